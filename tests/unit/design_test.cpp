// Order in which the object Design calls its layers, which layers it doesn't call at all, and that
// it asks every layer for pending work and statistics.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "platform.hpp"

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"

namespace pmemsim {
namespace {

using Calls = std::vector<std::string>;

// Sets whether a layer stalls stores and ends of regions, takes evicted lines and answers fetches,
// and lists the layers in the order of their calls. All designs share one script, because a table's
// rows are functions without parameters.
struct Script {
  std::uint32_t interests = kStores | kLoads | kEvictions | kFetches | kRegions;
  bool atomicity_stalls = false, ordering_stalls = false;
  Calls asked{};
};
Script& script() {
  static Script the_script;
  return the_script;
}

class ScriptedAtomicity final : public Atomicity {
 public:
  Lowering lowering() const override { return {}; }
  std::uint32_t interests() const override { return script().interests; }
  bool store(const Store&, Time, Completion) override { return !stalls(); }
  void load(const Load&, Time) override { stalls(); }
  Eviction evicted(Line, const LineData&, Time) override {
    return stalls() ? Eviction::kTaken : Eviction::kWrite;
  }
  bool may_leave(Line) const override { return !script().atomicity_stalls; }
  bool fetch(CoreId, Line, Time, Completion) override { return stalls(); }
  bool region_end(CoreId, std::uint64_t, Time, Completion) override { return !stalls(); }
  std::string pending() const override { return "something atomic"; }
  void statistics(StatisticsCollector& collector) const override {
    collector("of_atomicity", std::uint64_t{1}, "things", "Counted by atomicity");
  }

 private:
  static bool stalls() {
    script().asked.push_back("atomicity");
    return script().atomicity_stalls;
  }
};

class ScriptedOrdering final : public Ordering {
 public:
  Lowering lowering() const override { return {}; }
  std::uint32_t interests() const override { return script().interests; }
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  bool fence(const Fence&, Time, Completion) override { return true; }
  bool store(const Store&, Time, Completion) override { return !stalls(); }
  void load(const Load&, Time) override { stalls(); }
  Eviction evicted(Line, const LineData&, Time) override {
    return stalls() ? Eviction::kTaken : Eviction::kWrite;
  }
  bool may_leave(Line) const override { return !script().ordering_stalls; }
  bool fetch(CoreId, Line, Time, Completion) override { return stalls(); }
  void region_begin(CoreId, std::uint64_t) override { stalls(); }
  bool region_end(CoreId, std::uint64_t, Time, Completion) override { return !stalls(); }
  std::string pending() const override { return "something in order"; }
  void statistics(StatisticsCollector& collector) const override {
    collector("of_ordering", std::uint64_t{1}, "things", "Counted by ordering");
  }

 private:
  static bool stalls() {
    script().asked.push_back("ordering");
    return script().ordering_stalls;
  }
};

// Holds every write for ever.
class Holding final : public BackendOperation, public WriteGate {
 public:
  WriteGate* gate() override { return this; }
  bool write(const Write&, const Prepared&, Completion) override { return false; }
  std::string pending() const override { return "something held"; }
  void statistics(StatisticsCollector& collector) const override {
    collector("of_backend", std::uint64_t{1}, "things", "Counted by an operation");
  }
};

class CountingPrecompute final : public Precompute {
 public:
  void statistics(StatisticsCollector& collector) const override {
    collector("of_precompute", std::uint64_t{1}, "things", "Counted by precompute");
  }
};

const ChoiceTable& with_scripted_layers() {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = choices();
    table.push_back({.name = "scripted-ordering",
                     .summary = "Gives the answers that the test sets",
                     .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
                       return std::make_unique<ScriptedOrdering>();
                     }});
    table.push_back({.name = "scripted-atomicity",
                     .summary = "Gives the answers that the test sets",
                     .make = [](const Blueprint&) -> std::unique_ptr<Atomicity> {
                       return std::make_unique<ScriptedAtomicity>();
                     }});
    table.push_back({.name = "holding",
                     .summary = "Holds every write",
                     .make = [](const Blueprint&) -> std::unique_ptr<BackendOperation> {
                       return std::make_unique<Holding>();
                     }});
    table.push_back({.name = "counting",
                     .summary = "Has a statistic",
                     .make = [](const Blueprint&) -> std::unique_ptr<Precompute> {
                       return std::make_unique<CountingPrecompute>();
                     }});
    return table;
  }();
  return kTable;
}

class TwoLayerDesign : public testing::Test {
 protected:
  explicit TwoLayerDesign(const Script& answers = {}) : platform_(configured(answers)) {}

  // Layers that a call reaches, in this order.
  Calls store() {
    store_goes_on_ = platform_.design.store(queried_, store_, {}, {});
    return asked();
  }
  Calls region_begin() {
    platform_.design.region_begin(0, 1, {}, {});
    return asked();
  }
  Calls region_end() {
    end_goes_on_ = platform_.design.region_end(queried_, 0, 1, {}, {});
    return asked();
  }
  Calls load() {
    platform_.design.load({0, kLine.address(), 8, 0}, {});
    return asked();
  }
  Calls evicted() {
    eviction_ = platform_.design.evicted(kLine, {}, {});
    return asked();
  }
  bool may_leave() const { return platform_.design.may_leave(kLine); }
  Calls fetch() {
    fetched_ = false;
    platform_.design.fetch(0, kLine, {}, completion<&TwoLayerDesign::fetched>(*this));
    platform_.run();
    return asked();
  }

  static constexpr Line kLine = Line::of(kPmBase);
  static inline const Calls kNoCall, kAtomicityAlone{"atomicity"}, kOrderingAlone{"ordering"},
      kAtomicityFirst{"atomicity", "ordering"};
  bool store_goes_on_ = false, end_goes_on_ = false, fetched_ = false;
  Eviction eviction_{};

 private:
  static Configuration configured(const Script& answers) {
    script() = answers;
    return configure(
        settings({{"ordering", "scripted-ordering"}, {"atomicity", "scripted-atomicity"}}),
        with_scripted_layers());
  }
  static Calls asked() { return std::exchange(script().asked, {}); }
  void fetched(std::uint64_t, Time) { fetched_ = true; }

  Platform platform_;
  LayerAsked queried_ = LayerAsked::kNone;
  const std::byte value_{1};
  const Store store_{.core = 0,
                     .site = 0,
                     .address = kPmBase,
                     .size = 1,
                     .value = &value_,
                     .newest = platform_.pm_space.newest(),
                     .region = 0};
};

TEST_F(TwoLayerDesign, AtomicityIsCalledBeforeOrdering) {
  EXPECT_EQ(store(), kAtomicityFirst);
  EXPECT_TRUE(store_goes_on_);
  EXPECT_EQ(load(), kAtomicityFirst);
  EXPECT_EQ(evicted(), kAtomicityFirst);
  EXPECT_EQ(eviction_, Eviction::kWrite);
  EXPECT_TRUE(may_leave());
  EXPECT_EQ(fetch(), kAtomicityFirst);
  EXPECT_TRUE(fetched_) << "by PM, since no layer has answered";
}
TEST_F(TwoLayerDesign, RegionBeginReachesOrderingAndRegionEndBothLayers) {
  EXPECT_EQ(region_begin(), kOrderingAlone) << "atomicity notes nothing here";
  EXPECT_EQ(region_end(), kAtomicityFirst);
  EXPECT_TRUE(end_goes_on_);
}

struct DesignWithStallingAtomicity : TwoLayerDesign {
  DesignWithStallingAtomicity() : TwoLayerDesign({.atomicity_stalls = true}) {}
};
TEST_F(DesignWithStallingAtomicity, LineThatAtomicityTakesIsNotPassedToOrdering) {
  EXPECT_EQ(evicted(), kAtomicityAlone);
  EXPECT_EQ(eviction_, Eviction::kTaken);
  EXPECT_FALSE(may_leave());
  EXPECT_EQ(fetch(), kAtomicityAlone);
  EXPECT_FALSE(fetched_);
}
TEST_F(DesignWithStallingAtomicity, OrderingIsCalledWhenAStalledStoreRetries) {
  EXPECT_EQ(store(), kAtomicityAlone);
  EXPECT_FALSE(store_goes_on_);
  EXPECT_EQ(store(), kOrderingAlone);
  EXPECT_TRUE(store_goes_on_);
}

TEST_F(DesignWithStallingAtomicity, OrderingIsCalledWhenAStalledRegionEndRetries) {
  EXPECT_EQ(region_end(), kAtomicityAlone);
  EXPECT_FALSE(end_goes_on_);
  EXPECT_EQ(region_end(), kOrderingAlone);
  EXPECT_TRUE(end_goes_on_);
}

struct DesignWithStallingOrdering : TwoLayerDesign {
  DesignWithStallingOrdering() : TwoLayerDesign({.ordering_stalls = true}) {}
};
TEST_F(DesignWithStallingOrdering, NoLayerIsCalledTwiceForAStore) {
  EXPECT_EQ(store(), kAtomicityFirst);
  EXPECT_FALSE(store_goes_on_);
  EXPECT_EQ(store(), kNoCall);
  EXPECT_TRUE(store_goes_on_);
}
TEST_F(DesignWithStallingOrdering, NoLayerIsCalledTwiceForARegionsEnd) {
  EXPECT_EQ(region_end(), kAtomicityFirst);
  EXPECT_FALSE(end_goes_on_);
  EXPECT_EQ(region_end(), kNoCall);
  EXPECT_TRUE(end_goes_on_);
}
TEST_F(DesignWithStallingOrdering, OrderingMayTakeALineThatAtomicityDoesNotTake) {
  EXPECT_EQ(evicted(), kAtomicityFirst);
  EXPECT_EQ(eviction_, Eviction::kTaken);
  EXPECT_FALSE(may_leave());
  EXPECT_EQ(fetch(), kAtomicityFirst);
  EXPECT_FALSE(fetched_);
}

struct DesignWithoutInterests : TwoLayerDesign {
  DesignWithoutInterests()
      : TwoLayerDesign({.interests = 0, .atomicity_stalls = true, .ordering_stalls = true}) {}
};
TEST_F(DesignWithoutInterests, NoLayerIsCalledForAccesses) {
  EXPECT_EQ(store(), kNoCall);
  EXPECT_TRUE(store_goes_on_);
  EXPECT_EQ(load(), kNoCall);
  EXPECT_EQ(evicted(), kNoCall);
  EXPECT_EQ(eviction_, Eviction::kWrite);
  EXPECT_EQ(fetch(), kNoCall);
  EXPECT_TRUE(fetched_);
  EXPECT_EQ(region_begin(), kNoCall);
}
TEST_F(DesignWithoutInterests, NoLayerIsCalledForARegionsEnd) {
  EXPECT_EQ(region_end(), kNoCall);
  EXPECT_TRUE(end_goes_on_);
}

TEST(FourLayerDesign, PendingWorkAndStatisticsOfEachLayerAreListed) {
  Platform platform(configure(settings({{"ordering", "scripted-ordering"},
                                        {"atomicity", "scripted-atomicity"},
                                        {"backend", "holding"},
                                        {"precompute", "counting"}}),
                              with_scripted_layers()));
  platform.design.backend().write(
      {.line = Line::of(kPmBase), .data = {}, .persisted = {}, .written = {}});
  EXPECT_EQ(platform.design.pending(),
            "something in order; something atomic; 1 writes are held by the backend; "
            "something held");
  StatisticsCollector collector;
  platform.design.statistics(collector);
  Calls names;
  for (const Statistic& statistic : collector.found) names.push_back(statistic.name);
  EXPECT_EQ(names, (Calls{"of_ordering", "of_atomicity", "of_backend", "of_precompute"}));
}

}  // namespace
}  // namespace pmemsim
