// PMEM-Spec's recovery from misspeculation, rule by rule (designs/ordering/pmem_spec.hpp, 9 to 13),
// with times computed by hand: an alarm at 20 ns, the handler 2 us later, and 33 ns from then until
// restored data have arrived and their core is notified.
#include <gtest/gtest.h>

#include "unit/pmem_spec_bench.hpp"

namespace pmemsim {
namespace {

constexpr Time kHandled = at_ns(2020);

PmemSpecParameters spec_with(void (*change)(PmemSpecParameters&)) {
  PmemSpecParameters parameters;
  change(parameters);
  return parameters;
}

// ---- Rule 9: the handler

using PmemSpecHandler = PmemSpecBench;

TEST_F(PmemSpecHandler, DropsAndReportsTheMisspeculatedLine) {
  misspeculate(0, 1);
  EXPECT_EQ(bench.ordering->pending(), "1 stores on the persist path of core 0");
  bench.run_until(at_ns(100));
  EXPECT_EQ(bench.ordering->pending(), "1 misspeculated lines that the handler has not dropped");
  bench.run();
  EXPECT_EQ(bench.dropped_lines, (std::vector<std::pair<Line, Time>>{{kL0, kHandled}}));
  EXPECT_EQ(bench.reported, bench.dropped_lines);
  EXPECT_EQ(count("interrupts"), 1);
  EXPECT_EQ(bench.ordering->pending(), "");
}

TEST_F(PmemSpecHandler, HandlesAllLinesThatAreFoundBeforeItRuns) {
  misspeculate(0, 1);
  bench.at(at_ns(1000), [this] {
    bench.store(1, kW1, 2);
    bench.evict(kL1);
  });
  bench.at(at_ns(1010), [this] { bench.fetch(1, kL1); });
  bench.run();
  EXPECT_EQ(count("load_alarms"), 2);
  EXPECT_EQ(count("interrupts"), 1);
  EXPECT_EQ(bench.dropped_lines,
            (std::vector<std::pair<Line, Time>>{{kL0, kHandled}, {kL1, kHandled}}));
}

// One alarm address (6.1.1): line 1 has replaced line 0 when the handler runs.
struct PmemSpecOneAlarmEntry : PmemSpecBench {
  PmemSpecOneAlarmEntry()
      : PmemSpecBench(spec_with([](PmemSpecParameters& p) { p.alarm_entries = 1; })) {}
};
TEST_F(PmemSpecOneAlarmEntry, SecondMisspeculatedLineReplacesTheFirst) {
  misspeculate(0, 1);
  bench.at(at_ns(1000), [this] {
    bench.store(1, kW1, 2);
    bench.evict(kL1);
  });
  bench.at(at_ns(1010), [this] { bench.fetch(1, kL1); });
  bench.run();
  EXPECT_EQ(count("load_alarms"), 2);
  EXPECT_EQ(count("lost_alarms"), 1);
  EXPECT_EQ(bench.dropped_lines, (std::vector<std::pair<Line, Time>>{{kL1, kHandled}}));
  bench.load(0, kW0);
  EXPECT_EQ(bench.stale_loads.size(), 2) << "the line is still in the caches";
}
TEST_F(PmemSpecOneAlarmEntry, SecondAlarmForTheSameLineLosesNothing) {
  misspeculate(0, 1);
  bench.at(at_ns(1000), [this] { misspeculate(0, 2); });
  bench.run();
  EXPECT_EQ(count("load_alarms"), 2);
  EXPECT_EQ(count("lost_alarms"), 0);
  EXPECT_EQ(bench.dropped_lines.size(), 1);
}

// The alarm of 20 ns is over, for what was under way then, at 60.
struct PmemSpecWithAnEarlyHandler : PmemSpecBench {
  PmemSpecWithAnEarlyHandler()
      : PmemSpecBench(spec_with([](PmemSpecParameters& p) { p.interrupt_latency = ns(5); })) {}
};
TEST_F(PmemSpecWithAnEarlyHandler, HandlerWaitsForStoresInFlight) {
  misspeculate(0, 1);
  bench.run();
  EXPECT_EQ(bench.dropped_lines, (std::vector<std::pair<Line, Time>>{{kL0, at_ns(60)}}));
  EXPECT_EQ(count("interrupts"), 1);
}
TEST_F(PmemSpecWithAnEarlyHandler, HandlerRetriesWhileTheLineIsInFlight) {
  misspeculate(0, 1);
  bench.drops = false;
  bench.at(at_ns(95), [this] { bench.drops = true; });
  bench.run();  // at 25, 60, 80, 100
  EXPECT_EQ(bench.dropped_lines, (std::vector<std::pair<Line, Time>>{{kL0, at_ns(100)}}));
  EXPECT_EQ(count("interrupts"), 1);
}

struct PublishedAlarmedLines : PmemSpecBench {
  PublishedAlarmedLines()
      : PmemSpecBench(
            spec_with([](PmemSpecParameters& p) { p.alarmed_lines = AlarmedLines::kPublished; })) {}
};
TEST_F(PublishedAlarmedLines, StayInTheCachesAfterARollback) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(100), [this] { bench.end(0); });
  bench.run();
  EXPECT_TRUE(bench.dropped_lines.empty());
  bench.begin(0, 1);
  bench.load(0, kW0);
  EXPECT_EQ(bench.stale_loads.size(), 1)
      << "what was restored came from the caches: the line is as it is there";
}

// Once it is dropped, nothing that was read before counts.
TEST_F(PmemSpecHandler, DroppedLineIsNoLongerStale) {
  misspeculate(0, 1);
  bench.run();
  bench.load(0, kW0);
  EXPECT_EQ(bench.stale_loads.size(), 1) << "that of misspeculate() alone";
}

// ---- Rules 10 and 11: lazy recovery

using PmemSpecLazily = PmemSpecBench;

TEST_F(PmemSpecLazily, RegionRollsBackAtItsEnd) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  const Answer* end = nullptr;
  bench.at(at_ns(100), [&] { end = &bench.end(0); });
  bench.run_until(kHandled);
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, kHandled}})) << "when the alarm has been handled";
  EXPECT_EQ(bench.paused, (Notices{{0, 0, kHandled}}));
  EXPECT_EQ(bench.newest(kW0), 0);
  EXPECT_EQ(bench.in_pm(kW0), 1) << "the old value is in flight";
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL0, 0, kHandled + ns(20)}}));
  EXPECT_EQ(bench.resumed, (Notices{{0, 0, kHandled + ns(33)}}));
  EXPECT_FALSE(end->when) << "the thread isn't there any more";
  EXPECT_TRUE(bench.durable.empty());
  EXPECT_EQ(count("aborts"), 1);
  EXPECT_EQ(count("abort_time_ns"), 33);
}

TEST_F(PmemSpecLazily, NextExecutionOfARolledBackRegionCommits) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(100), [this] { bench.end(0); });
  bench.run();
  bench.begin(0, 1);
  EXPECT_TRUE(bench.store(0, kW0, 2).at_once);
  bench.dfence(0);
  const Answer& end = bench.end(0);
  const Time begun = bench.now();
  bench.run();
  EXPECT_EQ(end.when, begun + ns(33));
  EXPECT_EQ(bench.durable, (Notices{{0, 1, begun + ns(33)}}));
  EXPECT_EQ(bench.in_pm(kW0), 2);
}

TEST_F(PmemSpecLazily, ThreadOutsideRegionsDoesNotRollBack) {
  bench.begin(0, 1);
  misspeculate(1, 1);
  bench.at(at_ns(2030), [this] { bench.begin(1, 1); });
  bench.at(at_ns(2040), [this] { bench.end(1); });
  bench.at(at_ns(2050), [this] { bench.end(0); });
  bench.run();
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, at_ns(2050)}}))
      << "all in regions, not only whose it was";
  EXPECT_EQ(bench.durable, (Notices{{1, 1, at_ns(2040)}}));
}

// Loads retire before the region's begin has left the store queue.
TEST_F(PmemSpecLazily, RegionWithALoadBeforeItsBeginRollsBack) {
  misspeculate(1, 1);
  bench.at(at_ns(2000), [this] { bench.ordering->load({0, kW1, 8, 1, false}, bench.now()); });
  bench.at(at_ns(2030), [this] { bench.begin(0, 1); });
  bench.at(at_ns(2040), [this] { bench.end(0); });
  bench.run();
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, at_ns(2040)}}));
}

TEST_F(PmemSpecLazily, EndedRegionDoesNotRollBack) {
  bench.begin(0, 1);
  bench.load(0, kW1);
  bench.end(0);
  EXPECT_EQ(bench.durable.size(), 1);
  misspeculate(1, 1);
  bench.at(at_ns(2030), [this] { bench.begin(0, 2); });
  bench.at(at_ns(2040), [this] { bench.end(0); });
  bench.run();
  EXPECT_TRUE(bench.rewound.empty());
}

// Before its commit: at the fence that orders.
TEST_F(PmemSpecLazily, RegionRollsBackAtTheFenceBeforeItsCommit) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  const Answer* fence = nullptr;
  bench.at(at_ns(100), [&] { fence = &bench.ofence(0); });
  bench.run();
  EXPECT_FALSE(fence->when);
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, kHandled}}));
}

TEST_F(PmemSpecLazily, CommitWithoutAnAlarmWaitsForTheStores) {
  bench.begin(0, 1);
  bench.store(0, kW0, 1);
  const Answer& fence = bench.ofence(0);
  bench.run();
  EXPECT_EQ(fence.when, at_ns(33));
  EXPECT_TRUE(bench.ofence(0).at_once);
}

TEST_F(PmemSpecLazily, CommitWaitsForAlarmsOfOtherThreads) {
  misspeculate(1, 1);
  const Answer* fence = nullptr;
  bench.at(at_ns(2010), [&] { bench.begin(0, 1); });
  bench.at(at_ns(2015), [&] { fence = &bench.ofence(0); });
  bench.run();
  EXPECT_FALSE(fence->when) << "it was in a region when the handler came";
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, kHandled}}));
}

TEST_F(PmemSpecLazily, StoresAreUndoneInReverseOrder) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(50), [this] {
    bench.store(0, kW1, 2);
    bench.store(0, kW0, 3);
  });
  bench.at(at_ns(100), [this] { bench.end(0); });
  bench.run();
  const Arrivals restored(bench.arrivals.begin() + 3, bench.arrivals.end());
  EXPECT_EQ(restored, (Arrivals{{kL0, 1, kHandled + ns(20)},
                                {kL1, 0, kHandled + ns(20) + kBenchCycle},
                                {kL0, 0, kHandled + ns(21)}}));
  EXPECT_EQ(bench.resumed, (Notices{{0, 0, kHandled + ns(34)}}));
}

// Stores that are still on the path arrive before; the bytes behind them, later.
TEST_F(PmemSpecLazily, RollbackWaitsForStoresOnThePersistPath) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(kHandled - ns(5), [this] {
    bench.store(0, kW1, 2);  // arrives at 2035, known at 2048
    bench.end(0);
  });
  bench.run();
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, at_ns(2048)}}));
  EXPECT_EQ(bench.in_pm(kW1), 0);
}

TEST_F(PmemSpecLazily, ReadOfALineBeingRestoredWaits) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(50), [this] { bench.store(0, kW0, 2); });
  bench.at(at_ns(100), [this] { bench.end(0); });
  bench.run_until(kHandled);
  const Answer& read = bench.fetch(1, kL0);
  const Answer& other = bench.fetch(1, kL1);
  bench.run();
  EXPECT_EQ(other.when, kHandled + kPmRead);
  EXPECT_EQ(read.when, kHandled + ns(20) + kBenchCycle + kPmRead) << "until both have arrived";
  EXPECT_EQ(count("stale_reads"), 1) << "that of misspeculate() alone";
}

// A read that waited for a restore is checked like any other read, because another core's store to
// the line may still be in flight.
TEST_F(PmemSpecLazily, ReadThatWaitedForARestoreIsChecked) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(100), [this] { bench.end(0); });
  bench.at(kHandled + ns(5), [this] {
    bench.store(1, pm_word(0, 1), 2);  // arrives at 2045, what is restored at 2040
    bench.evict(kL0);                  // known at 2032
  });
  bench.at(kHandled + ns(15), [this] { bench.fetch(1, kL0); });
  bench.run();
  EXPECT_EQ(count("stale_reads"), 2) << "with that of misspeculate()";
  EXPECT_EQ(count("load_alarms"), 2);
  EXPECT_EQ(count("missed_stale_reads"), 0);
}

struct PmemSpecWithoutRollback : PmemSpecBench {
  PmemSpecWithoutRollback() : PmemSpecBench({.faults = {.rollback = true}}) {}
};
TEST_F(PmemSpecWithoutRollback, StoresOfTheRegionStayInPm) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(100), [this] { bench.end(0); });
  bench.run();
  EXPECT_EQ(bench.rewound.size(), 1);
  EXPECT_EQ(bench.in_pm(kW0), 1);
}

struct PublishedCommitCheck : PmemSpecBench {
  PublishedCommitCheck()
      : PmemSpecBench(
            spec_with([](PmemSpecParameters& p) { p.commit_check = CommitCheck::kPublished; })) {}
};
TEST_F(PublishedCommitCheck, CommitMayPrecedeTheAlarm) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  const Answer *fence = nullptr, *end = nullptr;
  bench.at(at_ns(100), [&] {
    fence = &bench.ofence(0);
    end = &bench.end(0);
  });
  bench.run();
  EXPECT_TRUE(fence->at_once);
  EXPECT_TRUE(end->at_once);
  EXPECT_TRUE(bench.rewound.empty()) << "although it has read something stale";
}
TEST_F(PublishedCommitCheck, MarkedRegionRollsBackAtItsEnd) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(3000), [this] { EXPECT_FALSE(bench.end(0).at_once); });
  bench.run();
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, at_ns(3000)}}));
}

// ---- Rule 11: eager recovery

struct PmemSpecEagerRecovery : PmemSpecBench {
  PmemSpecEagerRecovery()
      : PmemSpecBench(spec_with([](PmemSpecParameters& p) { p.recovery = SpecRecovery::kEager; })) {
  }
};
TEST_F(PmemSpecEagerRecovery, RegionRollsBackWhenTheAlarmIsHandled) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.run();
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, kHandled}}));
  EXPECT_EQ(bench.resumed, (Notices{{0, 0, kHandled + ns(33)}}));
}
TEST_F(PmemSpecEagerRecovery, RequestsOfACoreThatRollsBackAreNotAnswered) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(2010), [this] { bench.store(0, kW1, 2); });  // known at 2043
  bench.run_until(at_ns(2030));
  EXPECT_TRUE(bench.rewound.empty());
  for (const Answer* const answer :
       {&bench.store(0, kW2, 3), &bench.dfence(0), &bench.release(0), &bench.end(0)}) {
    EXPECT_FALSE(answer->at_once);
  }
  bench.run();
  EXPECT_EQ(bench.rewound, (Notices{{0, 1, at_ns(2043)}}));
  EXPECT_EQ(bench.newest(kW2), 0);
}

// ---- Rule 12: repeated misspeculation

struct PmemSpecTwoTries : PmemSpecBench {
  PmemSpecTwoTries() : PmemSpecBench(spec_with([](PmemSpecParameters& p) { p.retries = 2; })) {}

  // An execution of region 1 that reads something stale.
  void execute() {
    bench.begin(0, 1);
    misspeculate(0, 1);
    bench.at(bench.now() + ns(100), [this] { bench.end(0); });
    bench.run();
  }
};
TEST_F(PmemSpecTwoTries, ThirdExecutionDoesNotSpeculate) {
  execute();
  execute();
  EXPECT_EQ(count("aborts"), 2);
  EXPECT_EQ(count("without_speculation"), 0);
  const Time begun = bench.now();
  bench.begin(0, 1);
  const Answer& store = bench.store(0, kW0, 5);
  bench.run_until(begun + ns(20));
  EXPECT_EQ(bench.in_pm(kW0), 5);
  EXPECT_EQ(bench.newest(kW0), 0) << "it has arrived before it is visible";
  bench.run();
  EXPECT_EQ(store.when, begun + ns(33));
  EXPECT_TRUE(bench.end(0).at_once);
  EXPECT_EQ(bench.arrivals.back(), (Arrival{kL0, 5, begun + ns(20)})) << "once";
  EXPECT_EQ(count("without_speculation"), 1);
}
// Each execution is rolled back by another thread's misspeculation, until the livelock ends.
TEST_F(PmemSpecTwoTries, LivelockEndsAfterTwoRollbacks) {
  for (int execution = 0; execution < 3; ++execution) {
    bench.begin(0, 1);
    misspeculate(1, 1);
    bench.at(bench.now() + ns(100), [this] { bench.end(0); });
    bench.run();
  }
  EXPECT_EQ(bench.rewound.size(), 2);
  ASSERT_EQ(bench.durable.size(), 1);
  EXPECT_EQ(bench.durable[0].number, 1);
}
// During the third execution no core speculates, so that the region reads no line that other cores'
// stores have left stale.
TEST_F(PmemSpecTwoTries, OtherCoresDoNotSpeculateDuringTheThirdExecution) {
  execute();
  execute();
  bench.begin(0, 1);
  const Time begun = bench.now();
  const Answer& others = bench.store(1, kW1, 6);
  bench.evict(kL1);
  bench.at(begun + ns(10), [this] { bench.fetch(1, kL1); });
  bench.at(begun + ns(12), [this] { bench.load(0, kW1); });
  bench.run();
  EXPECT_EQ(others.when, begun + ns(33)) << "visible when it has arrived";
  EXPECT_EQ(bench.stale_loads.size(), 2) << "those of its first executions";
  EXPECT_TRUE(bench.end(0).at_once);
  EXPECT_TRUE(bench.store(1, kW1, 7).at_once) << "now that it is over";
}
// The third execution begins when stores that other cores made before have arrived, and when the
// misspeculations that they cause have been handled.
TEST_F(PmemSpecTwoTries, ThirdExecutionBeginsWhenNoReadCanBeStale) {
  execute();
  bench.begin(0, 1);
  misspeculate(0, 1);
  const Time begun = bench.now();
  bench.at(begun + ns(100), [this] { bench.end(0); });
  const Time back = begun + kHandled.since_start();
  bench.at(back - ns(5), [this] {  // arrives at 15 from there, an alarm until 2015
    bench.store(1, kW1, 6);
    bench.evict(kL1);
  });
  bench.at(back + ns(3), [this] { bench.fetch(1, kL1); });
  bench.run();
  EXPECT_EQ(bench.rewound.back().when, back);
  EXPECT_EQ(bench.resumed.back().when, back + ns(2015)) << "when the handler has dropped the line";
}
TEST_F(PmemSpecTwoTries, EachRegionHasItsOwnTries) {
  execute();
  execute();
  bench.begin(0, 1);
  bench.end(0);
  bench.begin(0, 2);
  EXPECT_TRUE(bench.store(0, kW0, 5).at_once) << "with speculation again";
  EXPECT_EQ(count("without_speculation"), 1);
}

// ---- Rule 7 and going back

// The region's own stores, which it has restored, don't look newer than those that it makes again.
TEST_F(PmemSpecEagerRecovery, ReexecutedStoresRaiseNoStoreAlarm) {
  bench.lock(0);  // 1: from before the region
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(50), [this] {
    bench.lock(0);  // 2
    bench.store(0, kW1, 2);
  });
  bench.run();  // resumed at 2053.5, when what was restored has arrived
  ASSERT_EQ(bench.rewound.size(), 1);
  const std::size_t arrived = bench.arrivals.size();
  bench.begin(0, 1);
  bench.store(0, kW1, 3);
  bench.run();
  EXPECT_EQ(bench.arrivals.size(), arrived + 1);
  EXPECT_EQ(count("store_alarms"), 0);
}

// The region takes a lock, rolls back, and takes it again. Its core has no lock after one unlock,
// so its later store has no ID that could look older than another core's.
TEST_F(PmemSpecLazily, RolledBackRegionForgetsTheLocksThatItHasTaken) {
  bench.begin(0, 1);
  bench.lock(0);  // 1
  misspeculate(0, 1);
  bench.at(at_ns(100), [this] { bench.end(0); });
  bench.run();
  ASSERT_EQ(bench.rewound.size(), 1);
  bench.begin(0, 1);
  bench.lock(0);  // 2
  bench.end(0);
  bench.unlock(0);
  bench.lock(1);  // 3
  bench.store(1, kW1, 2);
  bench.unlock(1);
  bench.at(bench.now() + ns(5), [this] { bench.store(0, kW1, 3); });
  bench.run();
  EXPECT_EQ(count("assigned_ids"), 3);
  EXPECT_EQ(count("store_alarms"), 0);
}

// An alarm for the order of stores to a line is one for the reads of it, too.
struct PmemSpecLoadAndStoreAlarms : PmemSpecBench {
  PmemSpecLoadAndStoreAlarms()
      : PmemSpecBench(spec_with([](PmemSpecParameters& p) { p.releases = Releases::kPublished; })) {
  }
};
TEST_F(PmemSpecLoadAndStoreAlarms, StaleReadOfALineWithAStoreAlarmIsNotMissed) {
  for (std::uint64_t line = 2; line < 12; ++line) bench.store(0, pm_word(line), line);
  bench.lock(0);
  bench.store(0, pm_word(0, 1), 1);  // arrives at 25
  bench.lock(1);
  bench.store(1, kW0, 2);  // at 20
  bench.evict(kL0);
  bench.at(at_ns(22), [this] { bench.fetch(0, kL0); });
  bench.run();
  EXPECT_EQ(count("stale_reads"), 1);
  EXPECT_EQ(count("store_alarms"), 1);
  EXPECT_EQ(bench.reported.size(), 1);
  EXPECT_EQ(count("missed_stale_reads"), 0);
}

// ---- Rule 13: without a log

struct PmemSpecWithoutRegions : PmemSpecBench {
  PmemSpecWithoutRegions() : PmemSpecBench({}, {.regions = false}) {}
};
TEST_F(PmemSpecWithoutRegions, MisspeculationIsCountedAndReported) {
  bench.begin(0, 1);
  misspeculate(0, 1);
  bench.at(at_ns(100), [this] { EXPECT_TRUE(bench.ofence(0).at_once); });
  bench.at(at_ns(100), [this] { EXPECT_TRUE(bench.end(0).at_once); });
  bench.run();
  EXPECT_TRUE(bench.rewound.empty());
  EXPECT_EQ(bench.reported.size(), 1);
  EXPECT_EQ(bench.stale_loads, (std::vector<std::pair<CoreId, std::uint64_t>>{{0, 0}}));
  EXPECT_EQ(count("unrepaired_loads"), 1);
}

TEST_F(PmemSpecHandler, StaleLoadOutsideRegionsIsNotRepaired) {
  misspeculate(0, 1);
  bench.run();
  EXPECT_EQ(count("unrepaired_loads"), 1);
  EXPECT_EQ(count("aborts"), 0);
}

}  // namespace
}  // namespace pmemsim
