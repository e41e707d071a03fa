// ASAP's own examples, figures 2 and 6, step by step. The design is between real caches and real
// memory, and the test decides when a write reaches a controller.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "pmemsim/designs/atomicity/asap.hpp"
#include "pmemsim/designs/atomicity/asap_recovery.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "unit/crash_probe.hpp"
#include "unit/platform.hpp"

namespace pmemsim {
namespace {

using Rid = Asap::Rid;
using Rids = std::vector<Rid>;
using Lines = std::vector<Line>;

const Line kA = Line::of(kPmBase), kB{kA.number + 1};
const Rid kR1 = Asap::rid(0, 1), kR2 = Asap::rid(1, 1);

// A backend operation that ends when the test says so, and so keeps writes of PM in flight.
class Gate final : public BackendOperation, public WriteGate {
 public:
  WriteGate* gate() override { return this; }
  bool write(const Write& write, const Prepared&, Completion done) override {
    held_.push_back({write, done});
    return false;
  }
  void forget(const Completion& done) override {
    std::erase_if(held_, [&](const Held& held) { return held.done.argument == done.argument; });
  }

  // Ends the operation of the oldest such write; false if there is none.
  bool open(Line line, WriteKind kind) {
    const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& held) {
      return held.write.line == line && held.write.kind == kind;
    });
    if (found == held_.end()) return false;
    const Completion done = found->done;
    held_.erase(found);
    done({});
    return true;
  }
  std::vector<Write> held() const {
    std::vector<Write> writes;
    for (const Held& held : held_) writes.push_back(held.write);
    return writes;
  }

 private:
  struct Held {
    Write write;
    Completion done;
  };
  std::vector<Held> held_;
};

const ChoiceTable& with_gate() {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = choices();
    table.push_back({.name = "gate",
                     .summary = "Keeps writes on their way",
                     .make = [](const Blueprint&) -> std::unique_ptr<BackendOperation> {
                       return std::make_unique<Gate>();
                     }});
    return table;
  }();
  return kTable;
}

// Describes the contents of the structures in the figures' words. R1 is the first region; R2 is a
// region of the other core, or the core's next region. `first` is the figure's name of line kA. A
// log entry that isn't persistent has a star.
class Words {
 public:
  Words(Asap::Snapshot now, char first) : now_(std::move(now)), first_(first) {}

  std::string cl_list() const {
    return list(now_.cl_list, [this](const auto& entry) {
      return name(entry.first) + progress(entry.second.done) +
             list(entry.second.slots, [this](Line line) { return name(line); });
    });
  }
  std::string dependence_list() const {
    return list(now_.dependence_list, [](const auto& entry) {
      return name(entry.first) + progress(entry.second.done) +
             list(entry.second.slots, [](Rid rid) { return name(rid); });
    });
  }
  std::string tags() const {
    return list(now_.tags, [this](const std::pair<const Line, Asap::TagExtension>& tag) {
      return name(tag.first) + " " + name(tag.second.owner) + (tag.second.locked ? " locked" : "");
    });
  }
  std::string lh_wpq() const {
    return list(now_.lh_wpq, [this](const auto& entry) {
      const LogHeader& header = entry.second;
      std::vector<std::string> entries;
      for (std::uint32_t i = 0; i < kRecordEntries && header.homes[i] != Line{}; ++i) {
        entries.push_back(name(header.homes[i]) + ((header.valid >> i & 1) != 0 ? "" : "*"));
      }
      return name(Asap::rid(header.core, header.region)) + list(entries, std::identity());
    });
  }
  std::string writes(const std::vector<Write>& all) const {
    return list(all, [this](const Write& write) {
      return name(write.owner) + (write.kind == WriteKind::kData ? " DPO " + name(write.line)
                                                                 : " LPO " + logged(write.line));
    });
  }

 private:
  static std::string name(Rid rid) { return rid == kR1 ? "R1" : "R2"; }
  std::string name(Line line) const {
    return {static_cast<char>(first_ + line.number - kA.number)};
  }
  static std::string progress(bool done) { return done ? " Done" : " InProgress"; }
  template <class List, class In>
  static std::string list(const List& all, In in_words) {
    std::string text;
    for (const auto& one : all) text += (text.empty() ? "" : ", ") + in_words(one);
    return " [" + text + "]";
  }
  // Returns the name of the line whose old value a line of the log holds.
  std::string logged(Line entry) const {
    const auto after = now_.lh_wpq.upper_bound(entry);
    if (after == now_.lh_wpq.begin()) return "without header";
    const auto& [place, header] = *std::prev(after);
    return name(header.homes[entry.number - place.number - 1]);
  }

  const Asap::Snapshot now_;
  const char first_;
};

Configuration bench_configuration(const std::vector<KeyValue>& more) {
  return configure(
      settings({{"atomicity", "asap"}, {"backend", "gate"}, {"core.count", "2"}}, more),
      with_gate());
}

// Regions 1 of cores 0 and 1, called R1 and R2 as in the paper; or regions 1 and 2 of core 0.
class Bench : public PersistenceObserver {
 public:
  explicit Bench(std::initializer_list<KeyValue> more = {})
      : configuration_(bench_configuration(more)),
        platform_(configuration_),
        asap_(dynamic_cast<Asap&>(platform_.design.atomicity())),
        gate_(dynamic_cast<Gate&>(*platform_.design.backend().parts().operations.front())) {
    platform_.pm.observe(this);
  }

  void begin(CoreId core, std::uint64_t region) { EXPECT_TRUE(try_begin(core, region)); }
  // Here and below, false means that the core stalls.
  bool try_begin(CoreId core, std::uint64_t region) {
    region_[core] = region;
    return asap_.region_begin(core, region, queue_.now(), resume(core));
  }
  bool store(CoreId core, Line line, std::uint64_t value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    const Store store{
        core, 0, line.address(), sizeof value, bytes.data(), pm_space_.newest(), region_[core]};
    const LineData after = store.after();
    const bool done = asap_.store(store, queue_.now(), resume(core));
    if (done) pm_space_.newest().write(line, after);
    return done;
  }
  void load(CoreId core, Line line) {
    asap_.load({core, line.address(), 8, region_[core]}, queue_.now());
  }
  void end(CoreId core) {
    EXPECT_TRUE(asap_.region_end(core, region_[core], queue_.now(), {}));
    run();
  }
  bool try_end(CoreId core) {
    return asap_.region_end(core, region_[core], queue_.now(), resume(core));
  }
  bool fence(CoreId core) { return asap_.fence_regions(core, queue_.now(), resume(core)); }
  bool flush(CoreId core, Line line) { return asap_.flush(core, line, queue_.now(), resume(core)); }
  bool context_switch(CoreId core) {
    return asap_.context_switch(core, queue_.now(), resume(core));
  }
  void header_arrives(Line place) {
    run();
    EXPECT_TRUE(gate_.open(place, WriteKind::kLogHeader)) << "the header is not in flight";
    run();
  }
  void log_arrives(Rid rid, Line line) {
    run();
    for (const auto& [place, header] : asap_.snapshot().lh_wpq) {
      if (Asap::rid(header.core, header.region) != rid) continue;
      for (std::uint32_t entry = 0; entry < kRecordEntries; ++entry) {
        if (header.homes[entry] != line) continue;
        EXPECT_TRUE(gate_.open({place.number + 1 + entry}, WriteKind::kLog));
        return run();
      }
    }
    ADD_FAILURE() << "no log entry of that line";
  }
  void data_arrive(Line line) {
    run();
    EXPECT_TRUE(gate_.open(line, WriteKind::kData)) << "no data persist operation of that line";
    run();
  }
  bool data_on_their_way(Line line) {
    run();
    const bool found = gate_.open(line, WriteKind::kData);
    run();
    return found;
  }
  // Executes events until there are none.
  void run() {
    while (queue_.step()) {
    }
  }

  // Value of the line's word after a crash at the current time, without and with recovery.
  std::uint64_t in_pm(Line line) const { return word(surviving(pm_), line); }
  std::uint64_t recovered(Line line) const {
    Image image = surviving(pm_);
    recover_asap(asap_.survivors(), image);
    return word(image, line);
  }

  Asap::Snapshot look() const { return asap_.snapshot(); }
  // The contents of all structures after all events.
  std::string state(char first = 'A') {
    run();
    const Words words(look(), first);
    return "CL List:" + words.cl_list() + "\nDependence List:" + words.dependence_list() +
           "\ntags:" + words.tags() + "\nLH-WPQ:" + words.lh_wpq() +
           "\non their way:" + words.writes(gate_.held()) + "\nWPQ:" + words.writes(wpq());
  }
  Asap& asap() { return asap_; }
  EventQueue& queue() { return queue_; }
  std::size_t on_their_way() const { return gate_.held().size(); }

  std::vector<std::pair<WriteKind, Rid>> dropped_writes;
  std::vector<CoreId> resumed_cores;

 private:
  void persisted(const Write&, PersistencePoint, Time) override {}
  void persisted_with_next(const Write&) override {}
  void dropped(const Write& write, Time) override {
    dropped_writes.emplace_back(write.kind, write.owner);
  }
  Completion resume(CoreId core) { return completion<&Bench::resumed>(*this, core); }
  void resumed(std::uint64_t core, Time) { resumed_cores.push_back(static_cast<CoreId>(core)); }
  std::vector<Write> wpq() const {
    std::vector<Write> all;
    pm_.for_each_accepted(
        [](void* found, const Write& write) {
          static_cast<std::vector<Write>*>(found)->push_back(write);
        },
        &all);
    std::ranges::sort(all, {}, [](const Write& w) { return std::tuple(w.owner, w.kind, w.line); });
    return all;
  }
  static std::uint64_t word(const Image& image, Line line) {
    std::uint64_t value;
    std::memcpy(&value, image.read(line).data(), sizeof value);
    return value;
  }

  const Configuration configuration_;
  Platform platform_;
  EventQueue& queue_ = platform_.queue;
  PmSpace& pm_space_ = platform_.pm_space;
  Memory& pm_ = platform_.pm;
  Asap& asap_;
  Gate& gate_;
  std::uint64_t region_[2] = {};
};

TEST(AsapFigure6, TwoRegionsWithADataDependence) {
  Bench bench;

  // a) R1 has started and writes A; R2 starts on the other core.
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  EXPECT_EQ(bench.state(),
            "CL List: [R1 InProgress [A]]\n"
            "Dependence List: [R1 InProgress []]\n"
            "tags: [A R1 locked]\n"
            "LH-WPQ: [R1 [A*]]\n"
            "on their way: [R1 LPO A]\n"
            "WPQ: []");
  bench.begin(1, 1);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 InProgress [A], R2 InProgress []]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress []]\n"
            "tags: [A R1 locked]\n"
            "LH-WPQ: [R1 [A*]]\n"
            "on their way: [R1 LPO A]\n"
            "WPQ: []");

  // b) The LPO of A arrives; R1 writes B and ends. The DPO of A' is sent, that of B' isn't.
  bench.log_arrives(kR1, kA);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 InProgress [A], R2 InProgress []]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress []]\n"
            "tags: [A R1]\n"
            "LH-WPQ: [R1 [A]]\n"
            "on their way: []\n"
            "WPQ: [R1 LPO A]");
  EXPECT_TRUE(bench.store(0, kB, 2));
  EXPECT_EQ(bench.state(),
            "CL List: [R1 InProgress [A, B], R2 InProgress []]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress []]\n"
            "tags: [A R1, B R1 locked]\n"
            "LH-WPQ: [R1 [A, B*]]\n"
            "on their way: [R1 LPO B]\n"
            "WPQ: [R1 LPO A]");
  // c) Execution continues after R1's end: end() doesn't stall.
  bench.end(0);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 Done [A, B], R2 InProgress []]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress []]\n"
            "tags: [A R1, B R1 locked]\n"
            "LH-WPQ: [R1 [A, B*]]\n"
            "on their way: [R1 LPO B, R1 DPO A]\n"
            "WPQ: [R1 LPO A]");
  EXPECT_EQ(bench.in_pm(kA), 0u);

  // d) The LPO of B and the DPO of A' arrive; R2 writes A.
  bench.log_arrives(kR1, kB);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 Done [A, B], R2 InProgress []]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress []]\n"
            "tags: [A R1, B R1]\n"
            "LH-WPQ: [R1 [A, B]]\n"
            "on their way: [R1 DPO A, R1 DPO B]\n"
            "WPQ: [R1 LPO A, R1 LPO B]");
  bench.data_arrive(kA);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 Done [B], R2 InProgress []]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress []]\n"
            "tags: [A R1, B R1]\n"
            "LH-WPQ: [R1 [A, B]]\n"
            "on their way: [R1 DPO B]\n"
            "WPQ: [R1 DPO A, R1 LPO A, R1 LPO B]");
  EXPECT_TRUE(bench.store(1, kA, 3));
  EXPECT_EQ(bench.state(),
            "CL List: [R1 Done [B], R2 InProgress [A]]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress [R1]]\n"
            "tags: [A R2 locked, B R1]\n"
            "LH-WPQ: [R1 [A, B], R2 [A*]]\n"
            "on their way: [R1 DPO B, R2 LPO A]\n"
            "WPQ: [R1 DPO A, R1 LPO A, R1 LPO B]");
  EXPECT_EQ(bench.in_pm(kA), 1u);
  EXPECT_EQ(bench.recovered(kA), 0u);

  // e) The LPO of A' arrives: the DPO of A' is dropped.
  bench.log_arrives(kR2, kA);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 Done [B], R2 InProgress [A]]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress [R1]]\n"
            "tags: [A R2, B R1]\n"
            "LH-WPQ: [R1 [A, B], R2 [A]]\n"
            "on their way: [R1 DPO B]\n"
            "WPQ: [R1 LPO A, R1 LPO B, R2 LPO A]");
  EXPECT_EQ(bench.in_pm(kA), 0u);
  EXPECT_EQ(bench.recovered(kA), 0u);

  // f) R2 has ended, and its last DPO arrives: Done in the Dependence List, but it waits for R1.
  bench.end(1);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 Done [B], R2 Done [A]]\n"
            "Dependence List: [R1 InProgress [], R2 InProgress [R1]]\n"
            "tags: [A R2, B R1]\n"
            "LH-WPQ: [R1 [A, B], R2 [A]]\n"
            "on their way: [R1 DPO B, R2 DPO A]\n"
            "WPQ: [R1 LPO A, R1 LPO B, R2 LPO A]");
  bench.data_arrive(kA);
  EXPECT_EQ(bench.state(),
            "CL List: [R1 Done [B]]\n"
            "Dependence List: [R1 InProgress [], R2 Done [R1]]\n"
            "tags: [A R2, B R1]\n"
            "LH-WPQ: [R1 [A, B], R2 [A]]\n"
            "on their way: [R1 DPO B]\n"
            "WPQ: [R1 LPO A, R1 LPO B, R2 DPO A, R2 LPO A]");
  EXPECT_EQ(bench.in_pm(kA), 3u);
  EXPECT_EQ(bench.recovered(kA), 0u);

  // g) The DPO of B' arrives: R1 is Done and commits, its LPOs are dropped, R2's Dep is cleared.
  // h) So R2 commits, too, and its LPO is dropped.
  bench.data_arrive(kB);
  EXPECT_EQ(bench.state(),
            "CL List: []\n"
            "Dependence List: []\n"
            "tags: []\n"
            "LH-WPQ: []\n"
            "on their way: []\n"
            "WPQ: [R1 DPO B, R2 DPO A]");
  const std::vector<std::pair<WriteKind, Rid>> dropped{{WriteKind::kData, kR1},
                                                       {WriteKind::kLog, kR1},
                                                       {WriteKind::kLog, kR1},
                                                       {WriteKind::kLog, kR2}};
  EXPECT_EQ(bench.dropped_writes, dropped);
  EXPECT_EQ(bench.recovered(kA), 3u);
  EXPECT_EQ(bench.recovered(kB), 2u);
}

// Figure 2: One region writes X, and a later region writes Y. The crash occurs when Y has persisted
// and X's log has not. On one thread (a-i) or on two (a-ii).
const Line kX = kA, kY = kB;
struct Figure2 {
  bool two_threads;
  Rid first() const { return Asap::rid(0, 1); }
  Rid second() const { return two_threads ? Asap::rid(1, 1) : Asap::rid(0, 2); }

  // `dependence`: what the later region's Dep slot holds.
  void until_the_crash(Bench& bench, const std::string& dependence) const {
    bench.begin(0, 1);
    EXPECT_TRUE(bench.store(0, kX, 1));
    bench.end(0);
    EXPECT_EQ(bench.state('X'),
              "CL List: [R1 Done [X]]\n"
              "Dependence List: [R1 InProgress []]\n"
              "tags: [X R1 locked]\n"
              "LH-WPQ: [R1 [X*]]\n"
              "on their way: [R1 LPO X]\n"
              "WPQ: []");
    const CoreId core = two_threads ? 1 : 0;
    bench.begin(core, two_threads ? 1 : 2);
    if (two_threads) bench.load(core, kX);
    EXPECT_EQ(bench.state('X'),
              "CL List: [R1 Done [X], R2 InProgress []]\n"
              "Dependence List: [R1 InProgress [], R2 InProgress [" +
                  dependence +
                  "]]\n"
                  "tags: [X R1 locked]\n"
                  "LH-WPQ: [R1 [X*]]\n"
                  "on their way: [R1 LPO X]\n"
                  "WPQ: []");
    EXPECT_TRUE(bench.store(core, kY, 2));
    bench.end(core);
    EXPECT_EQ(bench.state('X'),
              "CL List: [R1 Done [X], R2 Done [Y]]\n"
              "Dependence List: [R1 InProgress [], R2 InProgress [" +
                  dependence +
                  "]]\n"
                  "tags: [X R1 locked, Y R2 locked]\n"
                  "LH-WPQ: [R1 [X*], R2 [Y*]]\n"
                  "on their way: [R1 LPO X, R2 LPO Y]\n"
                  "WPQ: []");
    bench.log_arrives(second(), kY);
    EXPECT_EQ(bench.state('X'),
              "CL List: [R1 Done [X], R2 Done [Y]]\n"
              "Dependence List: [R1 InProgress [], R2 InProgress [" +
                  dependence +
                  "]]\n"
                  "tags: [X R1 locked, Y R2]\n"
                  "LH-WPQ: [R1 [X*], R2 [Y]]\n"
                  "on their way: [R1 LPO X, R2 DPO Y]\n"
                  "WPQ: [R2 LPO Y]");
    bench.data_arrive(kY);
  }
};

class AsapFigure2 : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OnOneThreadAndOnTwo, AsapFigure2, testing::Bool());

TEST_P(AsapFigure2, WithoutDependencesTheLaterRegionSurvivesAlone) {
  const Figure2 figure{GetParam()};
  Bench bench({{"pmemsim.faults", "asap.dependences"}});
  figure.until_the_crash(bench, "");
  EXPECT_EQ(bench.state('X'),
            "CL List: [R1 Done [X]]\n"
            "Dependence List: [R1 InProgress []]\n"
            "tags: [X R1 locked]\n"
            "LH-WPQ: [R1 [X*]]\n"
            "on their way: [R1 LPO X]\n"
            "WPQ: [R2 DPO Y]")
      << "R2 has committed";
  EXPECT_EQ(bench.recovered(kX), 0u) << "lost";
  EXPECT_EQ(bench.recovered(kY), 2u) << "there, and its old value is gone";
}

TEST_P(AsapFigure2, WithDependencesTheLogIsFreedOnlyAfterTheEarlierRegionsData) {
  const Figure2 figure{GetParam()};
  Bench bench;
  figure.until_the_crash(bench, "R1");
  EXPECT_EQ(bench.state('X'),
            "CL List: [R1 Done [X]]\n"
            "Dependence List: [R1 InProgress [], R2 Done [R1]]\n"
            "tags: [X R1 locked, Y R2]\n"
            "LH-WPQ: [R1 [X*], R2 [Y]]\n"
            "on their way: [R1 LPO X]\n"
            "WPQ: [R2 DPO Y, R2 LPO Y]")
      << "Y's log is not freed";
  EXPECT_EQ(bench.in_pm(kY), 2u);
  EXPECT_EQ(bench.recovered(kX), 0u);
  EXPECT_EQ(bench.recovered(kY), 0u) << "the old value is restored";

  // b) X's LPO completes, then its DPO; then both logs are freed.
  bench.log_arrives(figure.first(), kX);
  EXPECT_EQ(bench.state('X'),
            "CL List: [R1 Done [X]]\n"
            "Dependence List: [R1 InProgress [], R2 Done [R1]]\n"
            "tags: [X R1, Y R2]\n"
            "LH-WPQ: [R1 [X], R2 [Y]]\n"
            "on their way: [R1 DPO X]\n"
            "WPQ: [R1 LPO X, R2 DPO Y, R2 LPO Y]");
  EXPECT_EQ(bench.recovered(kY), 0u);
  bench.data_arrive(kX);
  EXPECT_EQ(bench.state('X'),
            "CL List: []\n"
            "Dependence List: []\n"
            "tags: []\n"
            "LH-WPQ: []\n"
            "on their way: []\n"
            "WPQ: [R1 DPO X, R2 DPO Y]");
  EXPECT_EQ(bench.recovered(kX), 1u);
  EXPECT_EQ(bench.recovered(kY), 2u);
}

TEST(AsapDistance, DataPersistAfterFourUpdatesOfOtherLines) {
  Bench bench;
  bench.begin(0, 1);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(bench.store(0, {kA.number + i}, 1));
  for (std::uint64_t i = 0; i < 4; ++i) bench.log_arrives(kR1, {kA.number + i});
  EXPECT_EQ(bench.on_their_way(), 0u);
  EXPECT_TRUE(bench.store(0, {kA.number + 4}, 1));
  EXPECT_EQ(bench.look().cl_list.at(kR1).slots.size(), 5u);
  bench.data_arrive(kA);
  EXPECT_EQ(bench.look().cl_list.at(kR1).slots.size(), 4u);
  EXPECT_FALSE(bench.data_on_their_way(kB));
  // A line that is written again occupies a slot again.
  EXPECT_TRUE(bench.store(0, kB, 2));
  EXPECT_TRUE(bench.store(0, {kA.number + 5}, 1));
  EXPECT_TRUE(bench.data_on_their_way({kA.number + 2}));
  EXPECT_FALSE(bench.data_on_their_way(kB));
}

// 5.5: the header of a region's latest record remains in the LH-WPQ until the record is full.
TEST(AsapRecords, FullHeaderEntersTheWpqAndTheNextRecordHasANewHeader) {
  Bench bench;
  const auto line = [](std::uint64_t i) { return Line{kA.number + i}; };
  bench.begin(0, 1);
  for (std::uint64_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(bench.store(0, line(i), 1));
    bench.log_arrives(kR1, line(i));
  }
  Asap::Snapshot now = bench.look();
  ASSERT_EQ(now.lh_wpq.size(), 1u);
  const auto [place, full] = *now.lh_wpq.begin();
  EXPECT_EQ(Asap::rid(full.core, full.region), kR1);
  EXPECT_EQ(full.record, 0u);
  EXPECT_EQ(full.valid, 0x7f);
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(full.homes[i], line(i));

  EXPECT_TRUE(bench.store(0, line(7), 1));
  bench.log_arrives(kR1, line(7));
  now = bench.look();
  ASSERT_EQ(now.lh_wpq.size(), 2u) << "the first until the WPQ has it";
  const LogHeader next = now.lh_wpq.at({place.number + kRecordLines});
  EXPECT_EQ(next.record, 1u);
  EXPECT_EQ(next.valid, 1);
  EXPECT_EQ(next.homes[0], line(7));

  bench.header_arrives(place);
  now = bench.look();
  ASSERT_EQ(now.lh_wpq.size(), 1u);
  EXPECT_EQ(now.lh_wpq.begin()->second, next);
  bench.data_arrive(line(0));
  EXPECT_EQ(bench.in_pm(line(0)), 1u);
  EXPECT_EQ(bench.recovered(line(0)), 0u) << "found through the header in the WPQ";
}

// 5.6: the low bits of a region's number say which controller has its Dependence List entry.
TEST(AsapControllers, EachControllerHasItsOwnDependenceList) {
  Bench bench({{"pm.controllers", "2"},
               {"pm.channels_per_controller", "1"},
               {"asap.dependence_entries", "1"}});
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.end(0);
  bench.begin(0, 2);
  const Rid second = Asap::rid(0, 2);
  EXPECT_EQ(bench.look().dependence_list.at(kR1).channel, 1u);
  EXPECT_EQ(bench.look().dependence_list.at(second).channel, 0u);
  EXPECT_EQ(bench.look().dependence_list.at(second).slots, Rids{kR1}) << "of the other list";
  EXPECT_FALSE(bench.try_begin(1, 1)) << "R1 has the only entry there";
  bench.end(0);
  EXPECT_TRUE(bench.look().dependence_list.at(second).done);
  EXPECT_TRUE(bench.resumed_cores.empty());
  bench.log_arrives(kR1, kA);
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{1});
  const Asap::Snapshot now = bench.look();
  EXPECT_EQ(now.dependence_list.size(), 1u) << "R1's commit was broadcast to the other list";
  EXPECT_EQ(now.dependence_list.at(kR2).channel, 1u);
}

// 5.2
TEST(AsapFence, WaitsForTheLatestRegionAndItsDependences) {
  Bench bench;
  EXPECT_TRUE(bench.fence(1)) << "there is nothing to wait for";
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.begin(1, 1);
  bench.load(1, kA);
  EXPECT_TRUE(bench.store(1, kB, 2));
  bench.end(1);
  EXPECT_FALSE(bench.fence(1));
  bench.log_arrives(kR2, kB);
  bench.data_arrive(kB);
  EXPECT_TRUE(bench.look().dependence_list.at(kR2).done);
  bench.end(0);
  bench.log_arrives(kR1, kA);
  EXPECT_TRUE(bench.resumed_cores.empty());
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{1});
}

TEST(AsapFence, WaitsForTheLatestRegionOfTheCore) {
  Bench bench;
  const Rid second = Asap::rid(0, 2);
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.end(0);
  bench.begin(0, 2);
  EXPECT_TRUE(bench.store(0, kB, 2));
  bench.end(0);
  EXPECT_FALSE(bench.fence(0));
  bench.log_arrives(kR1, kA);
  bench.data_arrive(kA);
  EXPECT_FALSE(bench.look().dependence_list.contains(kR1));
  EXPECT_TRUE(bench.resumed_cores.empty());
  bench.log_arrives(second, kB);
  bench.data_arrive(kB);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{0});
}

// The line is clean then, and the caches have no pending write of it.
TEST(AsapFlush, InsideARegionWaitsForTheLinesDataPersistOperation) {
  Bench bench({{"asap.dpo_coalescing", "false"}});
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.log_arrives(kR1, kA);
  EXPECT_FALSE(bench.flush(0, kA));
  bench.run();
  EXPECT_TRUE(bench.resumed_cores.empty());
  EXPECT_EQ(bench.in_pm(kA), 0u);
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{0});
  EXPECT_EQ(bench.in_pm(kA), 1u);
}

// 5.7
TEST(AsapContextSwitch, WaitsForEmptyClPtrSlotsAndItsRegionContinuesLater) {
  Bench bench;
  EXPECT_TRUE(bench.context_switch(0)) << "the core holds nothing of the thread";
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.log_arrives(kR1, kA);
  EXPECT_TRUE(bench.store(0, kB, 2));
  EXPECT_FALSE(bench.context_switch(0));
  bench.data_arrive(kA);
  EXPECT_EQ(bench.look().cl_list.at(kR1).slots, Lines{kB});
  EXPECT_FALSE(bench.data_on_their_way(kB)) << "its LockBit is set";
  bench.log_arrives(kR1, kB);
  EXPECT_TRUE(bench.resumed_cores.empty());
  bench.data_arrive(kB);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{0});
  Asap::Snapshot now = bench.look();
  EXPECT_FALSE(now.cl_list.at(kR1).done);
  EXPECT_EQ(now.cl_list.at(kR1).slots, Lines{});
  EXPECT_FALSE(now.dependence_list.at(kR1).done) << "still in progress";
  EXPECT_EQ(now.tags.at(kA).owner, kR1);
  EXPECT_EQ(now.lh_wpq.begin()->second.valid, 0b11) << "the log is kept";
  EXPECT_EQ(bench.in_pm(kA), 1u);
  EXPECT_EQ(bench.recovered(kA), 0u);

  EXPECT_TRUE(bench.store(0, kA, 3));
  bench.end(0);
  EXPECT_EQ(bench.on_their_way(), 1u) << "A's data; its old value is in the log already";
  EXPECT_FALSE(bench.context_switch(0)) << "an ended region has slots, too";
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, (std::vector<CoreId>{0, 0}));
  EXPECT_TRUE(bench.look().dependence_list.empty());
  EXPECT_EQ(bench.recovered(kA), 3u);
}

TEST(AsapStalls, RegionStallsUntilAClListEntryIsFree) {
  Bench bench({{"asap.cl_entries", "1"}});
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.end(0);
  EXPECT_FALSE(bench.try_begin(0, 2));
  bench.log_arrives(kR1, kA);
  EXPECT_TRUE(bench.resumed_cores.empty());
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{0});
  EXPECT_EQ(bench.look().cl_list.size(), 1u);
  EXPECT_FALSE(bench.look().cl_list.at(Asap::rid(0, 2)).done);
}

TEST(AsapStalls, StoreStallsUntilAClListSlotIsFree) {
  Bench bench({{"asap.cl_slots", "2"}});
  bench.begin(0, 1);
  for (std::uint64_t i = 0; i < 2; ++i) EXPECT_TRUE(bench.store(0, {kA.number + i}, 1));
  for (std::uint64_t i = 0; i < 2; ++i) bench.log_arrives(kR1, {kA.number + i});
  EXPECT_FALSE(bench.store(0, {kA.number + 2}, 1));
  bench.run();
  EXPECT_TRUE(bench.resumed_cores.empty());
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{0});
  EXPECT_EQ(bench.look().cl_list.at(kR1).slots, (Lines{kB, {kA.number + 2}}));
}

// R1 has written A and R2 B; both have ended, and neither has persisted anything.
void end_two_regions(Bench& bench) {
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.end(0);
  bench.begin(1, 1);
  EXPECT_TRUE(bench.store(1, kB, 1));
  bench.end(1);
}

TEST(AsapStalls, StoreStallsUntilADepSlotIsFree) {
  Bench bench({{"asap.dependence_slots", "1"}});
  end_two_regions(bench);
  bench.log_arrives(kR2, kB);
  bench.begin(0, 2);  // its one slot has the control dependence on R1
  EXPECT_EQ(bench.look().dependence_list.at(Asap::rid(0, 2)).slots, Rids{kR1});
  EXPECT_FALSE(bench.store(0, kB, 2)) << "needs a second for R2";
  bench.log_arrives(kR1, kA);
  EXPECT_TRUE(bench.resumed_cores.empty());
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{0});
  EXPECT_EQ(bench.look().dependence_list.at(Asap::rid(0, 2)).slots, Rids{kR2});
}

TEST(AsapStalls, RegionWithMoreDependencesThanDepSlotsEndsWhenASlotIsFree) {
  Bench bench({{"asap.dependence_slots", "1"}});
  end_two_regions(bench);
  bench.begin(0, 2);
  bench.load(0, kB);
  EXPECT_FALSE(bench.try_end(0)) << "depends on R1 and R2";
  EXPECT_FALSE(bench.look().cl_list.at(Asap::rid(0, 2)).done);
  bench.log_arrives(kR1, kA);
  bench.data_arrive(kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{0});
  EXPECT_EQ(bench.look().dependence_list.at(Asap::rid(0, 2)).slots, Rids{kR2});
}

// A load may retire while its region's begin is still in the store queue.
TEST(AsapEarlyLoads, LoadAddsItsDependenceWhenItsRegionBegins) {
  Bench bench;
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.asap().load({1, kA.address(), 8, 1}, bench.queue().now());
  EXPECT_FALSE(bench.look().dependence_list.contains(kR2));
  bench.begin(1, 1);
  EXPECT_EQ(bench.look().dependence_list.at(kR2).slots, Rids{kR1});
}

TEST(AsapEarlyLoads, LoadOfALaterRegionAddsNoDependenceToTheEarlierRegion) {
  Bench bench;
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.asap().load({1, kA.address(), 8, 2}, bench.queue().now());
  bench.begin(1, 1);
  EXPECT_EQ(bench.look().dependence_list.at(kR2).slots, Rids{});
  bench.end(1);
  bench.begin(1, 2);
  EXPECT_EQ(bench.look().dependence_list.at(Asap::rid(1, 2)).slots, Rids{kR1});
}

// 4.5: the entry stays until the commit, not only until its lines have persisted.
TEST(AsapDependences, RegionDependsOnThePreviousRegionOfItsCoreUntilCommit) {
  Bench bench;
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.begin(1, 1);
  bench.load(1, kA);
  bench.end(1);
  EXPECT_TRUE(bench.look().dependence_list.at(kR2).done) << "has written nothing, but waits for R1";
  bench.begin(1, 2);
  EXPECT_EQ(bench.look().dependence_list.at(Asap::rid(1, 2)).slots, Rids{kR2});
}

TEST(AsapStalls, StoreStallsOnTheLockBitOfAnEarlierRegion) {
  Bench bench;
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.end(0);
  bench.begin(1, 1);
  EXPECT_FALSE(bench.store(1, kA, 2));
  bench.run();
  EXPECT_TRUE(bench.resumed_cores.empty());
  EXPECT_EQ(bench.look().tags.at(kA).owner, kR1);
  bench.log_arrives(kR1, kA);
  EXPECT_EQ(bench.resumed_cores, std::vector<CoreId>{1});
  EXPECT_EQ(bench.look().tags.at(kA).owner, kR2);
  EXPECT_TRUE(bench.look().tags.at(kA).locked);
}

TEST(AsapStalls, WithoutTheLockBitStallRecoveryLeavesAPartialRegion) {
  Bench bench({{"pmemsim.faults", "asap.lock_wait"}});
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.begin(1, 1);
  EXPECT_TRUE(bench.store(1, kA, 2));
  EXPECT_EQ(bench.recovered(kA), 0u);
  bench.log_arrives(kR2, kA);  // before R1's, which is on another channel
  EXPECT_EQ(bench.in_pm(kA), 0u);
  EXPECT_EQ(bench.recovered(kA), 1u) << "of R1, which has not ended, and which nothing can undo";
}

TEST(AsapEvictions, OwnerOfAnEvictedLineIsFetchedFromTheDramBuffer) {
  Bench bench;
  struct Answers {
    std::vector<Time> at;
    void answered(std::uint64_t, Time now) { at.push_back(now); }
  } answers;
  const auto fetch = [&] {
    return bench.asap().fetch(1, kA, bench.queue().now(), completion<&Answers::answered>(answers));
  };
  EXPECT_FALSE(fetch()) << "the filter is empty";
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.run();
  EXPECT_EQ(bench.asap().evicted(kA, {}, bench.queue().now()), Eviction::kTaken) << "it is locked";
  bench.log_arrives(kR1, kA);
  EXPECT_TRUE(bench.data_on_their_way(kA)) << "it has waited for its log";
  bench.asap().evicted_clean(kA, bench.queue().now());
  EXPECT_TRUE(fetch());
  bench.run();
  EXPECT_EQ(answers.at.size(), 1u) << "once, when buffer and PM have answered";
  bench.begin(1, 1);
  bench.load(1, kA);
  EXPECT_EQ(bench.look().dependence_list.at(kR2).slots, Rids{kR1});
  bench.end(1);
  EXPECT_TRUE(fetch()) << "R1 has not committed";
  bench.end(0);
  EXPECT_TRUE(bench.data_on_their_way(kA));
  EXPECT_TRUE(bench.look().dependence_list.empty());
  EXPECT_FALSE(fetch()) << "cleared with the last Dependence List entry";
  bench.run();
  EXPECT_EQ(answers.at.size(), 2u);
}

// Core 1's last store was to this line, and core 0 has stored to it since.
TEST(AsapLog, EntryHoldsTheContentsThatItsRegionHasFound) {
  Bench bench;
  for (const CoreId core : {1u, 0u}) {
    bench.begin(core, 1);
    EXPECT_TRUE(bench.store(core, kA, 2 - core));
    bench.end(core);
    bench.log_arrives(Asap::rid(core, 1), kA);
    bench.data_arrive(kA);
  }
  bench.begin(0, 2);
  EXPECT_TRUE(bench.store(0, kA, 3));
  bench.log_arrives(Asap::rid(0, 2), kA);
  EXPECT_EQ(bench.recovered(kA), 2u);
}

}  // namespace
}  // namespace pmemsim
