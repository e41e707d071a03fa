// PMEM-Spec's paths, durability and detection, rule by rule (designs/ordering/pmem_spec.hpp), with
// times computed by hand: a cycle of 0.5 ns, and a path of 20 ns. The core is notified 13 ns after
// a store's acceptance, and the controller is notified 7 ns after an eviction.
#include <gtest/gtest.h>

#include "unit/pmem_spec_bench.hpp"

namespace pmemsim {
namespace {

constexpr Picoseconds kNextPs{1};

// ---- Rule 1: the paths

using PmemSpecPaths = PmemSpecBench;

TEST_F(PmemSpecPaths, OneStoreEntersPerCycle) {
  for (const std::uint64_t word : {kW0, kW1, kW2}) EXPECT_TRUE(bench.store(0, word, 7).at_once);
  bench.store(1, pm_word(3), 8);
  EXPECT_EQ(bench.ordering->pending(),
            "3 stores on the persist path of core 0; 1 stores on the persist path of core 1");
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 7, at_ns(20)},
                                      {pm_line_of(3), 8, at_ns(20)},
                                      {kL1, 7, at_ns(20) + kBenchCycle},
                                      {kL2, 7, at_ns(21)}}));
  EXPECT_EQ(bench.ordering->pending(), "");
  EXPECT_EQ(count("stores"), 4);
}

// Two cores' words of a line don't undo each other, in whatever order they arrive.
TEST_F(PmemSpecPaths, StoresCarryBytesNotLines) {
  bench.store(0, pm_word(0, 0), 1);
  bench.store(1, pm_word(0, 1), 2);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL0, 2, at_ns(20), bytes_from(8, 8)}}));
  EXPECT_EQ(bench.in_pm(pm_word(0, 0)), 1);
  EXPECT_EQ(bench.in_pm(pm_word(0, 1)), 2);
}

// 20 ns of path have room for 40 stores of 0.5 ns.
TEST_F(PmemSpecPaths, FullPathStallsTheStoreQueue) {
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_TRUE(bench.store(0, pm_word(i % 16), i).at_once);
  const Answer& next = bench.store(0, kW0, 40);
  EXPECT_FALSE(next.at_once);
  bench.run();
  EXPECT_EQ(next.when, at_ns(20)) << "the first has left the path";
  EXPECT_EQ(bench.arrivals.back(), (Arrival{kL0, 40, at_ns(40)}));
}

// A path that takes one store in 2 ns, and has room for ten.
struct PmemSpecWithASlowEntrance : PmemSpecBench {
  PmemSpecWithASlowEntrance() : PmemSpecBench(slow()) {}
  static PmemSpecParameters slow() {
    PmemSpecParameters parameters;
    parameters.store_interval = picoseconds(2000);
    return parameters;
  }
};
TEST_F(PmemSpecWithASlowEntrance, StoresEnterAtTheConfiguredInterval) {
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(bench.store(0, pm_word(i), i).at_once);
  const Answer& next = bench.store(0, pm_word(10), 10);
  EXPECT_FALSE(next.at_once);
  bench.run();
  EXPECT_EQ(next.when, at_ns(20));
  EXPECT_EQ(bench.arrivals[1], (Arrival{kL1, 1, at_ns(22)}));
  EXPECT_EQ(bench.arrivals.back(), (Arrival{pm_line_of(10), 10, at_ns(40)}));
}

// A store may wait until ten others have entered: windows are 2 * (20 + 10 * 2) ns long.
TEST_F(PmemSpecWithASlowEntrance, WindowsIncludeTheTimeThatStoresWaitToEnter) {
  for (const Time arrival : {at_ns(87) - kNextPs, at_ns(87 + 100)}) {
    const Time begin = bench.now();
    bench.evict(kL0);  // at 7, and the second time at 107
    bench.at(begin + ns(10), [this] { bench.fetch(1, kL0); });
    bench.at(arrival - ns(20), [this] { bench.store(0, kW0, 1); });
    bench.run_until(at_ns(100));
  }
  bench.run();
  EXPECT_EQ(count("load_alarms"), 1);
}

struct PmemSpecPathOfTwoStores : PmemSpecBench {
  PmemSpecPathOfTwoStores() : PmemSpecBench(holding(2)) {}
  static PmemSpecParameters holding(std::uint32_t stores) {
    PmemSpecParameters parameters;
    parameters.path_stores = stores;
    return parameters;
  }
};
TEST_F(PmemSpecPathOfTwoStores, ThirdStoreWaitsForTheFirst) {
  for (const std::uint64_t word : {kW0, kW1}) EXPECT_TRUE(bench.store(0, word, 1).at_once);
  const Answer& third = bench.store(0, kW2, 2);
  bench.run();
  EXPECT_EQ(third.when, at_ns(20));
  EXPECT_EQ(bench.arrivals.back(), (Arrival{kL2, 2, at_ns(40)}));
}
// More than enter it in its latency: they wait before the controller.
struct PmemSpecPathWithABuffer : PmemSpecBench {
  PmemSpecPathWithABuffer() : PmemSpecBench(PmemSpecPathOfTwoStores::holding(41)) {}
};
TEST_F(PmemSpecPathWithABuffer, HoldsMoreStoresThanEnterInItsLatency) {
  for (std::uint64_t i = 0; i < 41; ++i) EXPECT_TRUE(bench.store(0, pm_word(i % 16), i).at_once);
  EXPECT_FALSE(bench.store(0, kW0, 41).at_once);
}

// A queue of one entry: lines 0, 4, 8 are of one bank, which writes each for 94 ns.
struct PmemSpecWithAFullQueue : PmemSpecBench {
  PmemSpecWithAFullQueue() : PmemSpecBench({}, {.wpq_entries = 1}) {}
};
TEST_F(PmemSpecWithAFullQueue, FullWpqBacksUpThePath) {
  for (const std::uint64_t line : {0, 4, 8, 1}) bench.store(0, pm_word(line), line);
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 0, at_ns(20)},
                      {pm_line_of(4), 4, at_ns(20) + kBenchCycle},
                      {pm_line_of(8), 8, at_ns(114)},  // reached the controller at 21
                      {kL1, 1, at_ns(208)}}));
  EXPECT_EQ(count("backed_up_time_ns"), 208 - 21);
  EXPECT_EQ(count("late_persists"), 1) << "line 1, given at 114, after a window of 40 ns";
}

// A path of two entries, which are both taken while the third store waits at the controller.
struct PmemSpecWithAShortPath : PmemSpecBench {
  PmemSpecWithAShortPath() : PmemSpecBench(with_short_path(), {.wpq_entries = 1}) {}
  static PmemSpecParameters with_short_path() {
    PmemSpecParameters parameters;
    parameters.path_latency = ns(1);
    return parameters;
  }
};
TEST_F(PmemSpecWithAShortPath, StoreEntersWhenTheStoreAtTheControllerMovesOn) {
  const Answer* last = nullptr;
  bench.store(0, pm_word(0), 0);
  bench.store(0, pm_word(4), 4);
  bench.at(at_ns(1),
           [&] { bench.store(0, pm_word(8), 8); });  // waits at the controller from 2 to 95
  bench.at(at_ns(3), [&] {
    bench.store(0, pm_word(12), 12);
    bench.store(0, pm_word(1), 1);
    last = &bench.store(0, pm_word(2), 2);
  });
  bench.run();
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->when, at_ns(95))
      << "line 12 is given to the controller, which doesn't take it yet";
  EXPECT_EQ(bench.arrivals[2], (Arrival{pm_line_of(8), 8, at_ns(95)}));
  EXPECT_EQ(bench.arrivals[3], (Arrival{pm_line_of(12), 12, at_ns(189)}));
}

// ---- Rule 3: several controllers

struct PmemSpecWithTwoControllers : PmemSpecBench {
  explicit PmemSpecWithTwoControllers(const PmemSpecParameters& parameters = {},
                                      std::uint32_t wpq_entries = 64)
      : PmemSpecBench(parameters, {.controllers = 2, .wpq_entries = wpq_entries}) {}
};
TEST_F(PmemSpecWithTwoControllers, StoreToAnotherControllerIsDelayed) {
  bench.store(0, pm_word(0), 1);
  bench.store(0, pm_word(2), 2);  // the same
  bench.store(0, pm_word(1), 3);
  bench.store(0, pm_word(3), 4);  // the same
  bench.store(0, pm_word(4), 5);
  bench.store(1, pm_word(5), 6);  // another core's hasn't to wait
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)},
                                      {pm_line_of(5), 6, at_ns(20)},
                                      {kL2, 2, at_ns(20) + kBenchCycle},
                                      {kL1, 3, at_ns(40) + kBenchCycle},
                                      {pm_line_of(3), 4, at_ns(40) + kBenchCycle},
                                      {pm_line_of(4), 5, at_ns(60) + kBenchCycle}}));
  EXPECT_EQ(count("controller_changes"), 2);
  EXPECT_EQ(count("backed_up_time_ns"), 60.5 - 21) << "windows stand still meanwhile";
}

TEST_F(PmemSpecWithTwoControllers, LateStoreToAnotherControllerIsNotDelayed) {
  bench.store(0, pm_word(0), 1);
  bench.at(at_ns(20), [&] { bench.store(0, pm_word(1), 2); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}}));
  EXPECT_EQ(count("controller_changes"), 0);
}

struct PmemSpecWithTwoFullControllers : PmemSpecWithTwoControllers {
  PmemSpecWithTwoFullControllers() : PmemSpecWithTwoControllers({}, 1) {}
};
TEST_F(PmemSpecWithTwoFullControllers, StoreToAnotherControllerWaitsForThePreviousAcceptance) {
  for (const std::uint64_t line : {0, 8, 16, 1}) bench.store(0, pm_word(line), line);
  bench.run();
  EXPECT_EQ(bench.arrivals[2], (Arrival{pm_line_of(16), 16, at_ns(114)}));
  EXPECT_EQ(bench.arrivals[3], (Arrival{kL1, 1, at_ns(134)}));
  EXPECT_EQ(count("controller_changes"), 1);
}

struct PmemSpecWithoutOrder : PmemSpecWithTwoControllers {
  PmemSpecWithoutOrder() : PmemSpecWithTwoControllers({.faults = {.order = true}}, 1) {}
};
TEST_F(PmemSpecWithoutOrder, LaterStoreOvertakesAnEarlierStore) {
  for (const std::uint64_t line : {0, 8, 16, 1}) bench.store(0, pm_word(line), line);
  bench.run();
  EXPECT_EQ(bench.arrivals[2], (Arrival{kL1, 1, at_ns(20) + kBenchCycle * 3}));
  EXPECT_EQ(bench.arrivals[3], (Arrival{pm_line_of(16), 16, at_ns(114)}));
}

// ---- Rule 4: spec-barriers

using PmemSpecBarriers = PmemSpecBench;

TEST_F(PmemSpecBarriers, StallTheNextPmStoreOfTheirCore) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  EXPECT_TRUE(bench.dfence(0).at_once) << "loads and volatile stores go on";
  const Answer& store = bench.store(0, kW2, 3);
  EXPECT_FALSE(store.at_once);
  EXPECT_TRUE(bench.store(1, pm_word(3), 4).at_once);
  bench.run();
  EXPECT_EQ(store.when, at_ns(33) + kBenchCycle);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(33) + kBenchCycle}}));
}

TEST_F(PmemSpecBarriers, CompleteAtOnceIfAllStoresAreAcknowledged) {
  bench.dfence(0);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}}));
  bench.store(0, kW0, 1);
  bench.at(at_ns(33) - kNextPs, [&] { bench.dfence(0); });
  bench.at(at_ns(33), [&] { bench.dfence(0); });
  bench.run();
  EXPECT_EQ(bench.fulfilled[1], (Notice{0, 3, at_ns(33)})) << "known in the same moment";
  EXPECT_EQ(bench.fulfilled[2], (Notice{0, 2, at_ns(33)})) << "accepted since 20, but not heard of";
}

TEST_F(PmemSpecBarriers, FenceOfUnknownMeaningStallsTheNextPmStore) {
  bench.store(0, kW0, 1);
  bench.fence(0, trace::FenceMeaning::kBare);
  EXPECT_FALSE(bench.store(0, kW1, 1).at_once);
}

TEST_F(PmemSpecBarriers, OrderingFenceOutsideRegionsStallsNothing) {
  bench.store(0, kW0, 1);
  EXPECT_TRUE(bench.ofence(0).at_once);
  EXPECT_TRUE(bench.store(0, kW1, 2).at_once);
  bench.run();
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(33)}}));
}

struct PmemSpecBarriersStallStoreQueue : PmemSpecBench {
  PmemSpecBarriersStallStoreQueue() : PmemSpecBench(stopping()) {}
  static PmemSpecParameters stopping() {
    PmemSpecParameters parameters;
    parameters.barrier_stops = DurableFence::kStopsStoreQueue;
    return parameters;
  }
};
TEST_F(PmemSpecBarriersStallStoreQueue, DurableFenceStallsTheStoreQueue) {
  EXPECT_TRUE(bench.dfence(0).at_once) << "no store is in flight";
  bench.store(0, kW0, 1);
  const Answer& barrier = bench.dfence(0);
  EXPECT_FALSE(barrier.at_once);
  bench.run();
  EXPECT_EQ(barrier.when, at_ns(33));
  EXPECT_EQ(bench.fulfilled.back(), (Notice{0, 2, at_ns(33)}));
  EXPECT_TRUE(bench.store(0, kW1, 2).at_once);
  EXPECT_TRUE(bench.ofence(0).at_once) << "which stops nothing";
}

struct PmemSpecWithoutBarriers : PmemSpecBench {
  PmemSpecWithoutBarriers() : PmemSpecBench({.faults = {.barrier = true}}) {}
};
TEST_F(PmemSpecWithoutBarriers, FencesAreFulfilledTooEarly) {
  bench.store(0, kW0, 1);
  bench.dfence(0);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}}));
  EXPECT_TRUE(bench.store(0, kW1, 2).at_once);
}

struct PmemSpecWithoutMasks : PmemSpecBench {
  PmemSpecWithoutMasks() : PmemSpecBench({.faults = {.masks = true}}) {}
};
TEST_F(PmemSpecWithoutMasks, StoresCarryLinesAndUndoOtherWords) {
  for (std::uint64_t line = 2; line < 12; ++line) bench.store(0, pm_word(line), line);
  bench.store(0, pm_word(0, 0), 1);  // arrives at 25
  bench.store(1, pm_word(0, 1), 2);  // at 20
  bench.run();
  EXPECT_EQ(bench.arrivals.back(), (Arrival{kL0, 1, at_ns(25), kWholeLine}));
  EXPECT_EQ(bench.in_pm(pm_word(0, 1)), 0);
}

// ---- Rule 5: what is handed over

using PmemSpecReleases = PmemSpecBench;

TEST_F(PmemSpecReleases, ReleaseWaitsForEarlierStores) {
  EXPECT_TRUE(bench.release(0).at_once);
  bench.store(0, kW0, 1);
  const Answer& release = bench.release(0);
  bench.run();
  EXPECT_EQ(release.when, at_ns(33));
}

// An atomic store takes the path at once, and once. Other cores read it when it has arrived. Until
// then, the line in PM isn't too old, but too new.
TEST_F(PmemSpecReleases, AcceptedAtomicStoreMakesNoReadStale) {
  bench.store(0, kW0, 1, true);
  bench.at(at_ns(25), [this] { bench.fetch(1, kL0); });
  bench.at(at_ns(26), [this] { bench.load(1, kW0); });
  bench.run();
  EXPECT_EQ(count("stale_reads"), 0);
  EXPECT_TRUE(bench.stale_loads.empty());
}
TEST_F(PmemSpecReleases, AtomicStoreToPmIsVisibleWhenAcknowledged) {
  const Answer& store = bench.store(0, kW0, 1, true);
  EXPECT_FALSE(store.at_once);
  bench.run_until(at_ns(33) - kNextPs);
  EXPECT_EQ(bench.in_pm(kW0), 1);
  EXPECT_EQ(bench.newest(kW0), 0);
  bench.run();
  EXPECT_EQ(store.when, at_ns(33));
  EXPECT_EQ(bench.newest(kW0), 1);
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}}));
}

TEST_F(PmemSpecReleases, AtomicStoreWaitsForABarrier) {
  bench.store(0, kW1, 1);
  bench.dfence(0);
  const Answer& store = bench.store(0, kW0, 2, true);
  bench.run();
  EXPECT_EQ(store.when, at_ns(66));
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL1, 1, at_ns(20)}, {kL0, 2, at_ns(53)}}));
}

struct PublishedPmemSpecReleases : PmemSpecBench {
  PublishedPmemSpecReleases() : PmemSpecBench(published()) {}
  static PmemSpecParameters published() {
    PmemSpecParameters parameters;
    parameters.releases = Releases::kPublished;
    return parameters;
  }
};
TEST_F(PublishedPmemSpecReleases, ReleaseWaitsOnlyForBarriers) {
  EXPECT_TRUE(bench.store(0, kW0, 1, true).at_once);
  EXPECT_TRUE(bench.release(0).at_once);
  bench.dfence(0);
  const Answer& release = bench.release(0);
  bench.run();
  EXPECT_EQ(release.when, at_ns(33));
}

// ---- Rule 6: figures 3, 4 and 6

using PmemSpecLoads = PmemSpecBench;

// Figures 3 and 6a, step by step. (1) A store, (2) its line is evicted, (3) a load misses, (4) and
// reads what PM has; (5) the write-back has begun to watch the line, so that (6) the store, when it
// arrives, is found to be too late.
TEST_F(PmemSpecLoads, StaleReadOfFigure3IsDetected) {
  bench.store(0, kW0, 1);
  bench.at(at_ns(1), [&] { bench.evict(kL0); });  // known at 8
  bench.run_until(at_ns(8));
  EXPECT_EQ(count("write_backs"), 1);
  bench.fetch(0, kL0);
  EXPECT_EQ(count("stale_reads"), 1);
  bench.load(0, kW0);
  EXPECT_EQ(bench.stale_loads, (std::vector<std::pair<CoreId, std::uint64_t>>{{0, 0}}));
  bench.run_until(at_ns(20) - kNextPs);
  EXPECT_EQ(count("load_alarms"), 0);
  bench.run_until(at_ns(20));
  EXPECT_EQ(count("load_alarms"), 1);
  EXPECT_EQ(count("false_load_alarms"), 0);
  EXPECT_EQ(count("missed_stale_reads"), 0);
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}}));
}

// The buffer doesn't watch a line before its write-back has arrived, and ignores earlier reads. The
// caches send the write-back before the read.
TEST_F(PmemSpecLoads, WindowBeginsWhenTheWriteBackArrives) {
  bench.store(0, kW0, 1);
  bench.at(at_ns(27), [&] { bench.evict(kL0); });  // at 34
  bench.at(at_ns(40), [&] { bench.fetch(0, kL0); });
  bench.at(at_ns(54) - kNextPs, [&] { bench.store(0, kW0, 2); });  // at 74, less a picosecond
  bench.run();
  EXPECT_EQ(count("load_alarms"), 1);
  EXPECT_EQ(count("false_load_alarms"), 1) << "the read was right: the first store had arrived";
}

TEST_F(PmemSpecLoads, WindowOfFigure6aExpires) {
  bench.store(0, kW0, 1);
  bench.at(at_ns(27), [&] { bench.evict(kL0); });
  bench.at(at_ns(40), [&] { bench.fetch(0, kL0); });
  bench.at(at_ns(54), [&] { bench.store(0, kW0, 2); });  // at 74: 40 ns after the write-back
  bench.run();
  EXPECT_EQ(count("load_alarms"), 0);
}

// Figures 4 and 6b: the store misses, its line is fetched, and the store arrives.
TEST_F(PmemSpecLoads, WriteAllocateFetchOfFigure6bIsNoMisspeculation) {
  bench.fetch(0, kL0);
  bench.at(at_ns(5), [&] { bench.store(0, kW0, 1); });
  bench.run();
  EXPECT_EQ(count("load_alarms"), 0);
}

struct NaivePmemSpec : PmemSpecBench {
  NaivePmemSpec() : PmemSpecBench(naive()) {}
  static PmemSpecParameters naive() {
    PmemSpecParameters parameters;
    parameters.detection = Detection::kFetches;
    return parameters;
  }
};
TEST_F(NaivePmemSpec, WriteAllocateFetchOfFigure4LooksLikeMisspeculation) {
  bench.fetch(0, kL0);
  bench.at(at_ns(5), [&] { bench.store(0, kW0, 1); });
  bench.run();
  EXPECT_EQ(count("load_alarms"), 1);
  EXPECT_EQ(count("false_load_alarms"), 1);
}

struct PmemSpecWithAShortWindow : PmemSpecBench {
  PmemSpecWithAShortWindow() : PmemSpecBench(with_short_window()) {}
  static PmemSpecParameters with_short_window() {
    PmemSpecParameters parameters;
    parameters.window = ns(5);
    return parameters;
  }
};
TEST_F(PmemSpecWithAShortWindow, StaleReadIsMissed) {
  misspeculate(0, 1);
  bench.run();
  EXPECT_EQ(count("load_alarms"), 0);
  EXPECT_EQ(count("stale_reads"), 1);
  EXPECT_EQ(count("missed_stale_reads"), 1);
  EXPECT_EQ(count("late_persists"), 1);
}

struct PmemSpecWithoutDetection : PmemSpecBench {
  PmemSpecWithoutDetection() : PmemSpecBench({.faults = {.detection = true}}) {}
};
TEST_F(PmemSpecWithoutDetection, MisspeculationIsNotReported) {
  misspeculate(0, 1);
  bench.run();
  EXPECT_EQ(count("interrupts"), 0);
  EXPECT_TRUE(bench.reported.empty());
}

// The other core's path is backed up from 21 to 114: the window of 12 to 52 is over at 145.
using PmemSpecWithABackedUpPath = PmemSpecWithAFullQueue;
TEST_F(PmemSpecWithABackedUpPath, WindowsPauseWhileThePathIsBackedUp) {
  for (const std::uint64_t line : {0, 4, 8}) bench.store(1, pm_word(line), line);
  bench.at(at_ns(5), [this] { bench.evict(kL1); });
  bench.at(at_ns(15), [this] { bench.fetch(0, kL1); });
  bench.at(at_ns(125) - kNextPs, [this] { bench.store(0, kW1, 1); });
  bench.run();
  EXPECT_EQ(count("load_alarms"), 1);
}
TEST_F(PmemSpecWithABackedUpPath, WindowsExpireAfterTheBackUpEnds) {
  for (const std::uint64_t line : {0, 4, 8}) bench.store(1, pm_word(line), line);
  bench.at(at_ns(5), [this] { bench.evict(kL1); });
  bench.at(at_ns(15), [this] { bench.fetch(0, kL1); });
  bench.at(at_ns(125), [this] { bench.store(0, kW1, 1); });
  bench.run();
  EXPECT_EQ(count("load_alarms"), 0);
}

// Line 8 has come at 21, and waits before the controller until 114; it is evicted, and read at 30.
struct PmemSpecStoreCheck : PmemSpecBench {
  explicit PmemSpecStoreCheck(StoreCheck check)
      : PmemSpecBench(checking(check), {.wpq_entries = 1}) {}
  static PmemSpecParameters checking(StoreCheck check) {
    PmemSpecParameters parameters;
    parameters.store_check = check;
    return parameters;
  }
  void read_what_waits() {
    for (const std::uint64_t line : {0, 4, 8}) bench.store(0, pm_word(line), line);
    bench.at(at_ns(20), [this] { bench.evict(pm_line_of(8)); });
    bench.at(at_ns(30), [this] { bench.fetch(1, pm_line_of(8)); });
    bench.run();
    EXPECT_EQ(bench.arrivals.back(), (Arrival{pm_line_of(8), 8, at_ns(114)}));
    EXPECT_EQ(count("stale_reads"), 0) << "the read finds what waits";
  }
};
struct PmemSpecStoreCheckOnArrival : PmemSpecStoreCheck {
  PmemSpecStoreCheckOnArrival() : PmemSpecStoreCheck(StoreCheck::kArrival) {}
};
TEST_F(PmemSpecStoreCheckOnArrival, ReadOfAStoreWaitingAtTheControllerRaisesNoAlarm) {
  read_what_waits();
  EXPECT_EQ(count("load_alarms"), 0);
}
struct PmemSpecStoreCheckOnAcceptance : PmemSpecStoreCheck {
  PmemSpecStoreCheckOnAcceptance() : PmemSpecStoreCheck(StoreCheck::kAcceptance) {}
};
TEST_F(PmemSpecStoreCheckOnAcceptance, ReadOfAStoreWaitingAtTheControllerRaisesAFalseAlarm) {
  read_what_waits();
  EXPECT_EQ(count("load_alarms"), 1);
  EXPECT_EQ(count("false_load_alarms"), 1);
}
TEST_F(PmemSpecStoreCheckOnAcceptance, StaleReadIsDetected) {
  misspeculate(0, 1);
  bench.run();
  EXPECT_EQ(count("load_alarms"), 1);
  EXPECT_EQ(count("false_load_alarms"), 0);
}

struct PmemSpecRunningWindows : PmemSpecBench {
  PmemSpecRunningWindows() : PmemSpecBench(going_on(), {.wpq_entries = 1}) {}
  static PmemSpecParameters going_on() {
    PmemSpecParameters parameters;
    parameters.backed_up_windows = BackedUpWindows::kGoOn;
    return parameters;
  }
  // Line 1 is watched from 12 on. Its store arrives then.
  void store_at(Time arrival) {
    for (const std::uint64_t line : {0, 4, 8}) bench.store(1, pm_word(line), line);
    bench.at(at_ns(5), [this] { bench.evict(kL1); });
    bench.at(at_ns(15), [this] { bench.fetch(0, kL1); });
    bench.at(arrival - ns(20), [this] { bench.store(0, kW1, 1); });
    bench.run();
  }
};
TEST_F(PmemSpecRunningWindows, WindowsExpireWhileAPathIsBackedUp) {
  store_at(at_ns(52));
  EXPECT_EQ(count("load_alarms"), 0);
  EXPECT_EQ(count("backed_up_time_ns"), 208 - 21) << "line 1 waits behind line 8";
}
TEST_F(PmemSpecRunningWindows, StaleReadInsideTheWindowIsDetected) {
  store_at(at_ns(52) - kNextPs);
  EXPECT_EQ(count("load_alarms"), 1);
}

// ---- Rule 7: figure 7

// Both store to A under a lock, core 0 first; but that store has ten others before it.
struct PmemSpecFigure7 : PublishedPmemSpecReleases {
  void store_in_the_wrong_order(std::uint64_t first, std::uint64_t second) {
    for (std::uint64_t line = 2; line < 12; ++line) bench.store(0, pm_word(line), line);
    EXPECT_EQ(bench.lock(0), ns(20));
    bench.store(0, first, 1);  // arrives at 25
    bench.unlock(0);
    bench.lock(1);
    bench.store(1, second, 2);  // at 20
    bench.unlock(1);
    bench.run();
  }
};
TEST_F(PmemSpecFigure7, OvertakenStoreRaisesAnAlarm) {
  store_in_the_wrong_order(kW0, kW0);
  EXPECT_EQ(bench.newest(kW0), 2);
  EXPECT_EQ(bench.in_pm(kW0), 1) << "a missing update, unless the region goes back";
  EXPECT_EQ(count("store_alarms"), 1);
  EXPECT_EQ(count("false_store_alarms"), 0);
  EXPECT_EQ(count("assigned_ids"), 2);
}
TEST_F(PmemSpecFigure7, OvertakenStoreToAnotherWordRaisesAFalseAlarm) {
  store_in_the_wrong_order(pm_word(0, 0), pm_word(0, 1));
  EXPECT_EQ(count("store_alarms"), 1);
  EXPECT_EQ(count("false_store_alarms"), 1);
}
TEST_F(PmemSpecFigure7, StoresInOrderRaiseNoAlarm) {
  bench.lock(0);
  bench.store(0, kW0, 1);
  bench.unlock(0);
  bench.lock(1);
  bench.store(1, kW0, 2);
  bench.run();
  EXPECT_EQ(count("store_alarms"), 0);
  EXPECT_EQ(bench.in_pm(kW0), 2);
}
// Released locks are held back until the stores have arrived, by default.
TEST_F(PmemSpecFigure7, StoresOutsideLocksAreNotChecked) {
  bench.lock(1);
  bench.store(1, kW0, 2);
  bench.unlock(1);
  bench.store(0, kW0, 1);
  bench.run();
  EXPECT_EQ(count("store_alarms"), 0);
}
TEST_F(PmemSpecFigure7, InnerLockIdIsUsedUntilTheOutermostUnlock) {
  bench.lock(0);  // 1
  bench.lock(0);  // 2
  bench.unlock(0);
  bench.lock(1);  // 3
  bench.store(1, kW0, 2);
  bench.store(0, kW0, 1);  // with 2
  bench.store(0, pm_word(0, 1), 1);
  bench.unlock(0);
  bench.store(0, kW0, 1);  // with none
  bench.run();
  EXPECT_EQ(count("store_alarms"), 2);
}
TEST_F(PmemSpecFigure7, StoresUnderAnInnerLockCarryANewerId) {
  bench.lock(0);  // 1
  bench.lock(1);  // 2
  bench.store(1, kW0, 2);
  bench.unlock(1);
  bench.at(at_ns(5), [this] {
    bench.lock(0);  // 3
    bench.store(0, kW0, 3);
  });
  bench.run();
  EXPECT_EQ(count("assigned_ids"), 3);
  EXPECT_EQ(count("store_alarms"), 0);
}
struct PmemSpecOuterLockId : PmemSpecBench {
  PmemSpecOuterLockId() : PmemSpecBench(keeping_it()) {}
  static PmemSpecParameters keeping_it() {
    PmemSpecParameters parameters;
    parameters.inner_locks = InnerLocks::kOuterId;
    return parameters;
  }
};
TEST_F(PmemSpecOuterLockId, StoreInOrderUnderAnInnerLockRaisesAnAlarm) {
  bench.lock(0);  // 1
  bench.lock(1);  // 2
  bench.store(1, kW0, 2);
  bench.unlock(1);
  bench.at(at_ns(5), [this] {
    bench.lock(0);
    bench.store(0, kW0, 3);  // with 1
  });
  bench.run();
  EXPECT_EQ(count("assigned_ids"), 2);
  EXPECT_EQ(count("store_alarms"), 1);
  EXPECT_EQ(bench.in_pm(kW0), 3);
}
TEST_F(PmemSpecOuterLockId, EachOutermostLockAssignsANewId) {
  for (int i = 0; i < 2; ++i) {
    bench.lock(0);
    bench.unlock(0);
  }
  EXPECT_EQ(count("assigned_ids"), 2);
}
// IDs of two bits come round: the fourth one is 0, and 1 looks newer than that.
struct PmemSpecWithShortIds : PmemSpecBench {
  explicit PmemSpecWithShortIds(std::uint32_t bits = 2) : PmemSpecBench(with_ids(bits)) {}
  static PmemSpecParameters with_ids(std::uint32_t bits) {
    PmemSpecParameters parameters;
    parameters.id_bits = bits;
    parameters.releases = Releases::kPublished;
    return parameters;
  }
  // Core 1 takes the lock so often after core 0; its store arrives first.
  void overtake_after(int locks) {
    bench.lock(0);
    for (int i = 0; i < locks; ++i) {
      bench.lock(1);
      if (i < locks - 1) bench.unlock(1);
    }
    bench.store(1, kW0, 2);
    bench.store(0, kW0, 1);
    bench.run();
  }
};
TEST_F(PmemSpecWithShortIds, OvertakenStoreWithinHalfTheIdRangeRaisesAnAlarm) {
  overtake_after(2);
  EXPECT_EQ(count("store_alarms"), 1);
}
TEST_F(PmemSpecWithShortIds, OvertakenStoreBeyondHalfTheIdRangeIsMissed) {
  overtake_after(3);
  EXPECT_EQ(count("store_alarms"), 0);
}
struct PmemSpecThreeBitIds : PmemSpecWithShortIds {
  PmemSpecThreeBitIds() : PmemSpecWithShortIds(3) {}
};
TEST_F(PmemSpecThreeBitIds, OvertakenStoreThatTwoBitsMissRaisesAnAlarm) {
  overtake_after(3);
  EXPECT_EQ(count("store_alarms"), 1);
}

// A recording may begin with locks that are held.
TEST_F(PmemSpecFigure7, UnlockWithoutALockIsIgnored) {
  bench.unlock(0);
  bench.lock(0);
  bench.unlock(0);
  bench.lock(1);
  bench.store(1, kW0, 2);
  bench.store(0, kW0, 1);
  bench.run();
  EXPECT_EQ(count("store_alarms"), 0);
}

struct PmemSpecWithoutTags : PmemSpecBench {
  PmemSpecWithoutTags() : PmemSpecBench({.faults = {.tags = true}}) {}
};
TEST_F(PmemSpecWithoutTags, OvertakenStoreIsNotDetected) {
  bench.lock(0);
  bench.lock(1);
  bench.store(1, kW0, 2);
  bench.store(0, kW0, 1);
  bench.run();
  EXPECT_EQ(count("store_alarms"), 0);
  EXPECT_EQ(count("assigned_ids"), 2);
}

// ---- Rule 8: more lines than entries

struct PmemSpecOfOneEntry : PmemSpecBench {
  explicit PmemSpecOfOneEntry(const SpecSurroundings& surroundings = {})
      : PmemSpecBench(with_one_entry(), surroundings) {}
  static PmemSpecParameters with_one_entry() {
    PmemSpecParameters parameters;
    parameters.buffer_entries = 1;
    return parameters;
  }
};
TEST_F(PmemSpecOfOneEntry, FullBufferPausesAllCoresUntilAWindowExpires) {
  bench.evict(kL0);                               // at 7
  bench.at(at_ns(3), [&] { bench.evict(kL1); });  // at 10
  bench.at(at_ns(5), [&] { bench.evict(kL2); });  // at 12
  bench.run();
  EXPECT_EQ(bench.paused, (Notices{{0, 0, at_ns(10)}, {1, 0, at_ns(10)}}));
  EXPECT_EQ(bench.resumed, (Notices{{0, 0, at_ns(50)}, {1, 0, at_ns(50)}})) << "two must be over";
  EXPECT_EQ(count("overflows"), 1);
  EXPECT_EQ(count("overflow_time_ns"), 40);
}
TEST_F(PmemSpecOfOneEntry, StoresInCriticalSectionsTakeEntries) {
  bench.lock(0);
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.run();
  EXPECT_EQ(bench.paused,
            (Notices{{0, 0, at_ns(20) + kBenchCycle}, {1, 0, at_ns(20) + kBenchCycle}}));
  EXPECT_EQ(bench.resumed, (Notices{{0, 0, at_ns(60)}, {1, 0, at_ns(60)}}));
}

// From 10 to 47, two lines are watched.
TEST_F(PmemSpecOfOneEntry, StoresLeaveTheStoreQueueWhileCoresPause) {
  bench.evict(kL0);
  bench.at(at_ns(3), [&] { bench.evict(kL1); });
  bench.at(at_ns(20), [&] { EXPECT_TRUE(bench.store(0, kW2, 1).at_once); });
  bench.run();
}
struct PmemSpecFullBufferStallsStores : PmemSpecBench {
  PmemSpecFullBufferStallsStores() : PmemSpecBench(stopping()) {}
  static PmemSpecParameters stopping() {
    PmemSpecParameters parameters;
    parameters.buffer_entries = 1;
    parameters.full_buffer_stops = FullBuffer::kCoresAndPmStores;
    return parameters;
  }
};
TEST_F(PmemSpecFullBufferStallsStores, PmStoresLeaveWhenTheBufferHasAFreeEntry) {
  const Answer* store = nullptr;
  bench.evict(kL0);
  bench.at(at_ns(3), [&] { bench.evict(kL1); });
  bench.at(at_ns(9), [&] { EXPECT_TRUE(bench.store(0, kW2, 1).at_once); });
  bench.at(at_ns(20), [&] { store = &bench.store(0, kW2, 2); });
  bench.run();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->when, at_ns(47));
  EXPECT_EQ(bench.resumed, (Notices{{0, 0, at_ns(47)}, {1, 0, at_ns(47)}}));
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL2, 1, at_ns(29)}, {kL2, 2, at_ns(67)}}));
}

struct PmemSpecOfOneEntryAndAFullQueue : PmemSpecOfOneEntry {
  PmemSpecOfOneEntryAndAFullQueue() : PmemSpecOfOneEntry({.wpq_entries = 1}) {}
};
// The path is backed up from 21 to 114, in which nothing expires.
TEST_F(PmemSpecOfOneEntryAndAFullQueue, PauseIsExtendedWhileThePathIsBackedUp) {
  for (const std::uint64_t line : {0, 4, 8}) bench.store(1, pm_word(line), line);
  bench.at(at_ns(4), [&] { bench.evict(kL1); });  // at 11, until 51
  bench.at(at_ns(5), [&] { bench.evict(kL2); });
  bench.run();
  EXPECT_EQ(bench.paused.front().when, at_ns(12));
  EXPECT_EQ(bench.resumed.front().when, at_ns(51 + 93));
}

}  // namespace
}  // namespace pmemsim
