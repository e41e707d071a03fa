// Notifications of an ordering layer about a program's loads and stores: lines that they cross,
// atomic variables, regions; and the lowering of fences and non-temporal stores that the layer does
// not need.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/interface/lowered_stream.hpp"
#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::FenceMeaning;
using trace::MarkKind;
using trace::Purpose;
using trace::SiteKind;
using trace::TraceBuilder;

constexpr std::uint64_t kInside = kPmBase, kAcross = kPmBase + 2 * kLineBytes - 3;

// Records each access, with its offset from the beginning of PM.
class NotingOrdering : public NoOrdering {
 public:
  std::uint32_t interests() const override { return kStores | kLoads; }
  bool store(const Store& store, Time, Completion) override {
    note(store.atomic ? "atomic store" : "store", store.address, store.size, store.region);
    return true;
  }
  void load(const Load& load, Time) override {
    note(load.forwarded ? "forwarded load" : "load", load.address, load.size, load.region);
  }
  void non_temporal(CoreId, Line, ByteMask, Time) override {
    notices.emplace_back("past the caches");
  }
  std::vector<std::string> notices;

 private:
  void note(const std::string& what, std::uint64_t address, std::uint32_t bytes,
            std::uint64_t region) {
    notices.push_back(what + " " + std::to_string(address - kPmBase) + "+" + std::to_string(bytes) +
                      " region " + std::to_string(region));
  }
};

class WithoutNonTemporal final : public NotingOrdering {
 public:
  Lowering lowering() const override {
    Lowering lowering = NotingOrdering::lowering();
    lowering.keeps_non_temporal = false;
    return lowering;
  }
};

template <class Layer>
std::vector<std::string> notices(TraceBuilder& builder) {
  ChoiceTable table = choices();
  table.push_back({.name = "noting",
                   .summary = "Records its notifications",
                   .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
                     return std::make_unique<Layer>();
                   }});
  builder.pm_region(kPmBase, kPmBase + 4096);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(settings({{"ordering", "noting"}, {"atomicity", "none"}}), table),
                  file);
  EXPECT_TRUE(machine.run({}));
  return dynamic_cast<const Layer&>(machine.design().ordering()).notices;
}

using Words = std::vector<std::string>;

TEST(NotifiedAccesses, LoadAcrossTwoLinesIsNotifiedInTwoParts) {
  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kLoad, 8, 1);
  builder.access(load, kInside);
  builder.access(load, kAcross);
  builder.access(load, kPmBase + kLineBytes - 8);  // up to its end
  EXPECT_EQ(notices<NotingOrdering>(builder), (Words{"load 0+8 region 0", "load 125+3 region 0",
                                                     "load 128+5 region 0", "load 56+8 region 0"}));
}

TEST(NotifiedAccesses, StoreAcrossTwoLinesIsNotifiedInTwoParts) {
  TraceBuilder builder;
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  builder.store(store, kInside, 1);
  builder.store(store, kAcross, 2);
  EXPECT_EQ(notices<NotingOrdering>(builder),
            (Words{"store 0+8 region 0", "store 125+3 region 0", "store 128+5 region 0"}));
}

TEST(NotifiedAccesses, StoresCarryTheNumberOfTheirRegion) {
  TraceBuilder builder;
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  for (int region = 0; region < 2; ++region) {
    builder.mark(MarkKind::kRegionBegin, 1);
    builder.store(store, kInside, 1);
    builder.mark(MarkKind::kRegionEnd, 1);
  }
  builder.store(store, kInside, 1);
  EXPECT_EQ(notices<NotingOrdering>(builder),
            (Words{"store 0+8 region 1", "store 0+8 region 2", "store 0+8 region 0"}));
}

TEST(NotifiedAccesses, LoadForwardedFromAStoreIsMarked) {
  TraceBuilder builder;
  builder.store(builder.site(SiteKind::kStore, 8, 1), kInside, 1);
  builder.access(builder.site(SiteKind::kLoad, 8, 1), kInside);
  const Words all = notices<NotingOrdering>(builder);
  EXPECT_EQ(std::count(all.begin(), all.end(), "forwarded load 0+8 region 0"), 1);
}

TEST(NotifiedAccesses, LoadThatCompletesAtDispatchIsNotified) {
  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kLoad, 8, 1);
  builder.access(load, kInside);
  // More instructions than the reorder buffer has entries: the line is in the L1 when they end.
  builder.plain(builder.site(SiteKind::kExecute, 0, 1000));
  builder.access(load, kInside + 8);
  builder.access(load, kInside + 16);
  EXPECT_EQ(notices<NotingOrdering>(builder),
            (Words{"load 0+8 region 0", "load 8+8 region 0", "load 16+8 region 0"}));
}

TEST(NotifiedAccesses, StoresOfAtomicVariablesAreMarked) {
  TraceBuilder builder;
  builder.atomic(builder.site(SiteKind::kAtomicStore, 8, 1), kInside, 0, 1, 5);
  builder.atomic(builder.site(SiteKind::kAtomicUpdate, 8, 1), kInside, 0, 2, 6, true);
  builder.atomic(builder.site(SiteKind::kAtomicUpdate, 8, 1), kInside, 0, 2, 6, false);
  builder.store(builder.site(SiteKind::kStore, 8, 1), kInside, 7);
  Words stores;
  for (const std::string& one : notices<NotingOrdering>(builder)) {
    if (one.find("store") != std::string::npos) stores.push_back(one);
  }
  EXPECT_EQ(stores,
            (Words{"atomic store 0+8 region 0", "atomic store 0+8 region 0", "store 0+8 region 0"}))
      << "an update that hasn't written is none";
}

TraceBuilder non_temporal_store() {
  TraceBuilder builder;
  builder.store(builder.site(SiteKind::kNonTemporal, 8, 1), kInside, 1);
  return builder;
}

TEST(NotifiedAccesses, NonTemporalStoresBypassTheCaches) {
  TraceBuilder builder = non_temporal_store();
  EXPECT_EQ(notices<NotingOrdering>(builder), (Words{"store 0+8 region 0", "past the caches"}));
}

TEST(NotifiedAccesses, NonTemporalStoresBecomePlainStoresIfNotKept) {
  TraceBuilder builder = non_temporal_store();
  EXPECT_EQ(notices<WithoutNonTemporal>(builder), (Words{"store 0+8 region 0"}));
}

// ---- Fences that order, and which of them are kept

// A trace with a fence of each meaning for each purpose, and a full fence that orders.
TraceBuilder fences_of_all_kinds() {
  TraceBuilder builder;
  const auto sfence = builder.site(SiteKind::kFence);
  const auto mfence = builder.site(SiteKind::kFence, 0, 1, {}, {},
                                   static_cast<std::uint8_t>(trace::FenceKind::kMfence));
  for (std::uint64_t purpose = 0; purpose < trace::kPurposes; ++purpose) {
    builder.mark(MarkKind::kPurpose, purpose);
    for (std::uint64_t meaning = 0; meaning < trace::kFenceMeanings; ++meaning) {
      builder.mark(MarkKind::kNextFence, meaning);
      builder.plain(sfence);
    }
    builder.mark(MarkKind::kNextFence, static_cast<std::uint64_t>(FenceMeaning::kOrder));
    builder.plain(mfence);
  }
  return builder;
}

// The fences that are left, by position, with the purpose and the meaning of each.
std::vector<std::string> positions_of_fences(const Lowering& lowering, bool skips) {
  TraceBuilder builder = fences_of_all_kinds();
  const auto branch = builder.site(SiteKind::kBranch);
  for (std::uint64_t purpose = 0; purpose < trace::kPurposes; ++purpose) {
    builder.mark(MarkKind::kPurpose, purpose);
    builder.branch(branch, true);
    builder.plain(builder.site(SiteKind::kFence));
    builder.branch(branch, false);
  }
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  LoweredStream stream(file, 0, lowering, {});
  std::vector<std::string> found;
  for (trace::Operation operation;;) {
    if (skips) {
      stream.skip_to({SiteKind::kMark, SiteKind::kSync, SiteKind::kFlush, SiteKind::kFence});
    }
    if (!stream.next(operation)) return found;
    if (operation.kind != SiteKind::kFence) continue;
    found.push_back(std::to_string(stream.position()) + " " +
                    std::to_string(static_cast<int>(stream.purpose())) + " " +
                    std::to_string(static_cast<int>(stream.fence_meaning())));
  }
}

TEST(SkippedKinds, FencesAreLeftWithTheSamePurposeAndMeaning) {
  Lowering lowering;
  EXPECT_EQ(positions_of_fences(lowering, true), positions_of_fences(lowering, false));
  lowering.keeps[static_cast<std::size_t>(Purpose::kLog)] = false;
  lowering.keeps_ordering_fences[static_cast<std::size_t>(Purpose::kCommit)] = false;
  EXPECT_EQ(positions_of_fences(lowering, true), positions_of_fences(lowering, false));
}

// Number of kept fences, by purpose.
std::vector<int> fences_left(const Lowering& lowering) {
  TraceBuilder builder = fences_of_all_kinds();
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  LoweredStream stream(file, 0, lowering, {});
  std::vector<int> left(trace::kPurposes);
  for (trace::Operation operation; stream.next(operation);) {
    left[static_cast<std::size_t>(stream.purpose())] += operation.kind == SiteKind::kFence;
  }
  return left;
}

TEST(KeptFences, OrderingFencesAreDroppedByPurpose) {
  EXPECT_EQ(fences_left({}), (std::vector{4, 4, 4, 4, 4}));
  Lowering lowering;
  lowering.keeps_ordering_fences[static_cast<std::size_t>(Purpose::kLog)] = false;
  lowering.keeps_ordering_fences[static_cast<std::size_t>(Purpose::kCommit)] = false;
  EXPECT_EQ(fences_left(lowering), (std::vector{4, 3, 4, 3, 4})) << "a full fence stays";
}

TEST(KeptFences, DroppingAllFencesOfAPurposeDropsOrderingFences) {
  Lowering lowering;
  lowering.keeps_fences[static_cast<std::size_t>(Purpose::kLog)] = false;
  EXPECT_EQ(fences_left(lowering), (std::vector{4, 1, 4, 4, 4}));
}

// An operation that one layer leaves out is left out by both together.
TEST(KeptFences, FenceIsKeptOnlyIfBothLayersKeepIt) {
  Lowering ordering, atomicity;
  ordering.keeps_ordering_fences.fill(false);
  atomicity.keeps_non_temporal = false;
  for (const Lowering& both : {ordering & atomicity, atomicity & ordering}) {
    EXPECT_FALSE(both.keeps_non_temporal);
    EXPECT_EQ(fences_left(both), (std::vector{3, 3, 3, 3, 3}));
  }
}

}  // namespace
}  // namespace pmemsim
