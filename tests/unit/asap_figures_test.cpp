// ASAP's own examples, figures 2 and 6, step by step: the design between real caches and real
// memory, but nothing reaches a controller before the test says so.
#include <gtest/gtest.h>

#include <vector>

#include "pmemsim/atomicity/asap.hpp"
#include "pmemsim/ordering/x86.hpp"
#include "pmemsim/recovery/asap.hpp"
#include "unit/crash_plug.hpp"

namespace pmemsim {
namespace {

using Rid = Asap::Rid;
using Rids = std::vector<Rid>;
using Lines = std::vector<Line>;

// Keeps writes of PM on their way.
class Gate final : public Backend {
 public:
  explicit Gate(Memory& pm) : pm_(pm) {}
  void write(const Write& write) override { held_.push_back(write); }
  void read(Line line, Completion done) override { pm_.read(line, done); }

  // Lets the oldest such write go on; false if there is none.
  bool open(Line line, WriteKind kind) {
    const auto found = std::find_if(held_.begin(), held_.end(), [&](const Write& write) {
      return write.line == line && write.kind == kind;
    });
    if (found == held_.end()) return false;
    const Write write = *found;
    held_.erase(found);
    pm_.write(write);
    return true;
  }
  std::size_t held() const { return held_.size(); }

 private:
  Memory& pm_;
  std::vector<Write> held_;
};

Configuration bench_configuration(const std::vector<KeyValue>& more) {
  return configure(settings({{"atomicity", "asap"}, {"core.count", "2"}}, more));
}

// Regions 1 of cores 0 and 1, called R1 and R2 as in the paper; or regions 1 and 2 of core 0.
class Bench : public PersistenceObserver {
 public:
  explicit Bench(std::initializer_list<KeyValue> more = {})
      : configuration_(bench_configuration(more)),
        clock_(configuration_.core.frequency, configuration_.core.width),
        dram_(queue_, configuration_.dram),
        pm_(queue_, configuration_.pm),
        gate_(pm_),
        ordering_(2, {}),
        asap_({.kind = LogKind::kUndo,
               .cores = 2,
               .channels = configuration_.pm.channels(),
               .banks = configuration_.pm.channels() * configuration_.pm.banks(),
               .rings = 2,
               .header_entries = configuration_.asap.lh_wpq_entries},
              configuration_.asap, configuration_.log),
        caches_({queue_, pm_space_, gate_, dram_, ordering_, asap_}, clock_, 2, configuration_.l1,
                configuration_.l2, configuration_.shared, configuration_.path) {
    pm_space_.add({kPmBase, kPmBase + (1 << 20)});
    asap_.connect({queue_, caches_, gate_, pm_, dram_, pm_space_, program_events_});
    pm_.observe(this);
  }

  void begin(CoreId core, std::uint64_t region) {
    EXPECT_TRUE(asap_.region_begin(core, region, queue_.now(), {}));
    region_[core] = region;
  }
  // False: it waits.
  bool store(CoreId core, Line line, std::uint64_t value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    const Store store{
        core, 0, line.address(), sizeof value, bytes.data(), pm_space_.newest(), region_[core]};
    const LineData after = store.after();
    const bool done = asap_.store(store, queue_.now(), completion<&Bench::resumed>(*this, core));
    if (done) pm_space_.newest().write(line, after);
    return done;
  }
  void load(CoreId core, Line line) { asap_.load(core, line, region_[core], queue_.now()); }
  void end(CoreId core) {
    EXPECT_TRUE(asap_.region_end(core, region_[core], queue_.now(), {}));
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
  // Until nothing happens by itself.
  void run() {
    while (queue_.step()) {
    }
  }

  // What the line's word is after a crash now, without and with recovery.
  std::uint64_t in_pm(Line line) const { return word(surviving(pm_), line); }
  std::uint64_t recovered(Line line) const {
    Image image = surviving(pm_);
    recover_asap(asap_.survivors(), image);
    return word(image, line);
  }

  Asap::Snapshot look() const { return asap_.snapshot(); }
  Asap& asap() { return asap_; }
  EventQueue& queue() { return queue_; }
  const Memory& dram() const { return dram_; }
  std::size_t on_their_way() const { return gate_.held(); }

  std::vector<std::pair<WriteKind, Rid>> dropped_writes;
  std::vector<CoreId> resumed_cores;

 private:
  void persisted(const Write&, PersistencePoint, Picoseconds) override {}
  void dropped(const Write& write, Picoseconds) override {
    dropped_writes.emplace_back(write.kind, write.owner);
  }
  void resumed(std::uint64_t core, Picoseconds) {
    resumed_cores.push_back(static_cast<CoreId>(core));
  }
  static std::uint64_t word(const Image& image, Line line) {
    std::uint64_t value;
    std::memcpy(&value, image.read(line).data(), sizeof value);
    return value;
  }

  const Configuration configuration_;
  EventQueue queue_;
  PmSpace pm_space_;
  const ProgramEvents program_events_;
  Clock clock_;
  Memory dram_, pm_;
  Gate gate_;
  X86Ordering ordering_;
  Asap asap_;
  Hierarchy caches_;
  std::uint64_t region_[2] = {};
};

const Line kA = Line::of(kPmBase), kB{kA.number + 1};
const Rid kR1 = Asap::rid(0, 1), kR2 = Asap::rid(1, 1);

TEST(AsapFigure6, TwoRegionsWithADataDependence) {
  Bench bench;
  Asap::Snapshot now;

  // a) R1 has started and writes A; R2 starts on the other core.
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.begin(1, 1);
  bench.run();
  now = bench.look();
  EXPECT_EQ(now.cl_list.size(), 2u);
  EXPECT_FALSE(now.cl_list.at(kR1).done);
  EXPECT_EQ(now.cl_list.at(kR1).slots, Lines{kA});
  EXPECT_FALSE(now.cl_list.at(kR2).done);
  EXPECT_EQ(now.cl_list.at(kR2).slots, Lines{});
  EXPECT_EQ(now.dependence_list.size(), 2u);
  for (const Rid region : {kR1, kR2}) {
    EXPECT_FALSE(now.dependence_list.at(region).done);
    EXPECT_EQ(now.dependence_list.at(region).slots, Rids{});
  }
  EXPECT_EQ(now.tags.size(), 1u);
  EXPECT_EQ(now.tags.at(kA).owner, kR1);
  EXPECT_TRUE(now.tags.at(kA).locked);
  ASSERT_EQ(now.lh_wpq.size(), 1u);
  EXPECT_EQ(now.lh_wpq.begin()->second.homes[0], kA);
  EXPECT_EQ(now.lh_wpq.begin()->second.valid, 0) << "the log entry hasn't arrived";
  EXPECT_EQ(bench.on_their_way(), 1u);

  // b) The LPO of A arrives; R1 writes B and ends. A' is sent, B' isn't.
  bench.log_arrives(kR1, kA);
  EXPECT_TRUE(bench.store(0, kB, 2));
  bench.end(0);
  now = bench.look();
  EXPECT_TRUE(now.cl_list.at(kR1).done);
  EXPECT_EQ(now.cl_list.at(kR1).slots, (Lines{kA, kB}));
  EXPECT_FALSE(now.dependence_list.at(kR1).done);
  EXPECT_FALSE(now.tags.at(kA).locked);
  EXPECT_TRUE(now.tags.at(kB).locked);
  EXPECT_EQ(now.lh_wpq.begin()->second.valid, 0b01);
  EXPECT_EQ(bench.on_their_way(), 2u) << "the LPO of B and the DPO of A'";
  EXPECT_EQ(bench.in_pm(kA), 0u);

  // c) Execution has gone on past R1's end (end() hasn't waited).

  // d) The LPO of B and the DPO of A' arrive; R2 writes A.
  bench.log_arrives(kR1, kB);
  now = bench.look();
  EXPECT_FALSE(now.tags.at(kB).locked);
  EXPECT_EQ(now.lh_wpq.begin()->second.valid, 0b11);
  bench.data_arrive(kA);
  EXPECT_TRUE(bench.store(1, kA, 3));
  bench.run();
  now = bench.look();
  EXPECT_EQ(now.cl_list.at(kR1).slots, Lines{kB}) << "A's slot is cleared";
  EXPECT_EQ(now.cl_list.at(kR2).slots, Lines{kA});
  EXPECT_EQ(now.dependence_list.at(kR1).slots, Rids{});
  EXPECT_EQ(now.dependence_list.at(kR2).slots, Rids{kR1});
  EXPECT_EQ(now.tags.at(kA).owner, kR2);
  EXPECT_TRUE(now.tags.at(kA).locked);
  EXPECT_EQ(now.tags.at(kB).owner, kR1);
  EXPECT_EQ(now.lh_wpq.size(), 2u);
  EXPECT_EQ(bench.on_their_way(), 2u) << "the DPO of B' and the LPO of A'";
  EXPECT_EQ(bench.in_pm(kA), 1u);
  EXPECT_EQ(bench.recovered(kA), 0u);

  // e) The LPO of A' arrives: the DPO of A' is dropped.
  EXPECT_TRUE(bench.dropped_writes.empty());
  bench.log_arrives(kR2, kA);
  ASSERT_EQ(bench.dropped_writes.size(), 1u);
  EXPECT_EQ(bench.dropped_writes[0], (std::pair{WriteKind::kData, kR1}));
  now = bench.look();
  EXPECT_FALSE(now.tags.at(kA).locked);
  EXPECT_EQ(bench.in_pm(kA), 0u);
  EXPECT_EQ(bench.recovered(kA), 0u);

  // f) R2 has ended, and its last DPO arrives: Done in the Dependence List, but it waits for R1.
  bench.end(1);
  EXPECT_TRUE(bench.look().cl_list.at(kR2).done);
  bench.data_arrive(kA);
  now = bench.look();
  EXPECT_FALSE(now.cl_list.contains(kR2));
  EXPECT_TRUE(now.dependence_list.at(kR2).done);
  EXPECT_EQ(now.dependence_list.at(kR2).slots, Rids{kR1});
  EXPECT_FALSE(now.dependence_list.at(kR1).done);
  EXPECT_EQ(now.lh_wpq.size(), 2u);
  EXPECT_EQ(bench.in_pm(kA), 3u);
  EXPECT_EQ(bench.recovered(kA), 0u);

  // g) The DPO of B' arrives: R1 is Done and commits, its LPOs are dropped, R2's Dep is cleared.
  // h) So R2 commits, too, and its LPO is dropped.
  bench.data_arrive(kB);
  const std::vector<std::pair<WriteKind, Rid>> dropped{{WriteKind::kData, kR1},
                                                       {WriteKind::kLog, kR1},
                                                       {WriteKind::kLog, kR1},
                                                       {WriteKind::kLog, kR2}};
  EXPECT_EQ(bench.dropped_writes, dropped);
  now = bench.look();
  EXPECT_TRUE(now.cl_list.empty());
  EXPECT_TRUE(now.dependence_list.empty());
  EXPECT_TRUE(now.lh_wpq.empty());
  EXPECT_TRUE(now.tags.empty());
  EXPECT_EQ(bench.on_their_way(), 0u);
  EXPECT_EQ(bench.recovered(kA), 3u);
  EXPECT_EQ(bench.recovered(kB), 2u);
}

// Figure 2: X is written by one region, Y by one that comes after it; the plug is pulled when Y has
// persisted and X's log hasn't. On one thread (a-i) or on two (a-ii).
const Line kX = kA, kY = kB;
struct Figure2 {
  bool two_threads;
  Rid first() const { return Asap::rid(0, 1); }
  Rid second() const { return two_threads ? Asap::rid(1, 1) : Asap::rid(0, 2); }

  void until_the_crash(Bench& bench) const {
    bench.begin(0, 1);
    EXPECT_TRUE(bench.store(0, kX, 1));
    bench.end(0);
    const CoreId core = two_threads ? 1 : 0;
    bench.begin(core, two_threads ? 1 : 2);
    if (two_threads) bench.load(core, kX);
    EXPECT_TRUE(bench.store(core, kY, 2));
    bench.end(core);
    bench.log_arrives(second(), kY);
    bench.data_arrive(kY);
    EXPECT_FALSE(bench.data_on_their_way(kX)) << "its log comes first";
  }
};

class AsapFigure2 : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OnOneThreadAndOnTwo, AsapFigure2, testing::Bool());

TEST_P(AsapFigure2, WithoutDependencesTheLaterRegionSurvivesAlone) {
  const Figure2 figure{GetParam()};
  Bench bench({{"asap.break.dependences", "true"}});
  figure.until_the_crash(bench);
  const Asap::Snapshot now = bench.look();
  EXPECT_FALSE(now.dependence_list.contains(figure.second())) << "has committed";
  EXPECT_TRUE(now.dependence_list.contains(figure.first()));
  EXPECT_EQ(bench.recovered(kX), 0u) << "lost";
  EXPECT_EQ(bench.recovered(kY), 2u) << "there, and its old value is gone";
}

TEST_P(AsapFigure2, WithDependencesTheLogIsFreedOnlyAfterTheEarlierRegionsData) {
  const Figure2 figure{GetParam()};
  Bench bench;
  figure.until_the_crash(bench);
  Asap::Snapshot now = bench.look();
  EXPECT_TRUE(now.dependence_list.at(figure.second()).done);
  EXPECT_EQ(now.dependence_list.at(figure.second()).slots, Rids{figure.first()});
  EXPECT_FALSE(now.dependence_list.at(figure.first()).done);
  EXPECT_EQ(now.lh_wpq.size(), 2u) << "Y's log is not freed";
  EXPECT_EQ(bench.in_pm(kY), 2u);
  EXPECT_EQ(bench.recovered(kX), 0u);
  EXPECT_EQ(bench.recovered(kY), 0u) << "the old value is restored";

  // b) X's LPO completes, then its DPO; then both logs are freed.
  bench.log_arrives(figure.first(), kX);
  EXPECT_EQ(bench.look().dependence_list.size(), 2u);
  EXPECT_EQ(bench.recovered(kY), 0u);
  bench.data_arrive(kX);
  now = bench.look();
  EXPECT_TRUE(now.dependence_list.empty());
  EXPECT_TRUE(now.lh_wpq.empty());
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
  // A line that is written again counts anew.
  EXPECT_TRUE(bench.store(0, kB, 2));
  EXPECT_TRUE(bench.store(0, {kA.number + 5}, 1));
  EXPECT_TRUE(bench.data_on_their_way({kA.number + 2}));
  EXPECT_FALSE(bench.data_on_their_way(kB));
}

TEST(AsapStalls, AStoreWaitsForASlotOfTheClList) {
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

TEST(AsapStalls, AStoreWaitsForADepSlot) {
  Bench bench({{"asap.dependence_slots", "1"}});
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.end(0);
  bench.begin(1, 1);
  EXPECT_TRUE(bench.store(1, kB, 1));
  bench.end(1);
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

TEST(AsapStalls, AStoreWaitsForAnEarlierRegionsLockBit) {
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

TEST(AsapStalls, WithoutThatWaitARegionIsLeftInPart) {
  Bench bench({{"asap.break.lock_wait", "true"}});
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kA, 1));
  bench.begin(1, 1);
  EXPECT_TRUE(bench.store(1, kA, 2));
  EXPECT_EQ(bench.recovered(kA), 0u);
  bench.log_arrives(kR2, kA);  // before R1's, which is on another channel
  EXPECT_EQ(bench.in_pm(kA), 0u);
  EXPECT_EQ(bench.recovered(kA), 1u) << "of R1, which has not ended, and which nothing can undo";
}

TEST(AsapEvictions, TheOwnerComesBackFromTheDramBuffer) {
  Bench bench;
  struct Answers {
    std::vector<Picoseconds> at;
    void answered(std::uint64_t, Picoseconds now) { at.push_back(now); }
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

}  // namespace
}  // namespace pmemsim
