// HOPS, rule by rule (designs/ordering/hops.hpp), with times computed by hand: a cycle of 0.5 ns, a
// path of 20 ns, and 13 ns from a write's acceptance to the notification of its core.
#include <gtest/gtest.h>

#include "pmemsim/designs/ordering/hops.hpp"
#include "unit/ordering_bench.hpp"

namespace pmemsim {
namespace {

constexpr Time at_ps(std::int64_t count) { return {count}; }

class HopsTest : public testing::Test {
 protected:
  explicit HopsTest(const HopsParameters& parameters = {},
                    const MemoryParameters& memory = ordering_memory())
      : bench(2, std::make_unique<HopsOrdering>(2, parameters), memory) {}
  double count(const std::string& name) const { return bench.statistic("hops." + name); }

  static constexpr std::uint64_t kW0 = pm_word(0), kW1 = pm_word(1), kW2 = pm_word(2);
  static constexpr Line kL0 = pm_line_of(0), kL1 = pm_line_of(1), kL2 = pm_line_of(2);
  OrderingBench bench;
};

// ---- Rule 3: when a buffer flushes

// 2000 cycles of 0.5 ns after the first store.
TEST_F(HopsTest, BufferFlushesAfterAnInterval) {
  bench.at(at_ns(5), [&] { bench.store(0, kW0, 1); });
  bench.at(at_ns(500), [&] { bench.store(0, kW1, 2); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(1025)}, {kL1, 2, at_ps(1'025'500)}}));
}

// The interval begins with a store that finds the buffer empty, not with an earlier store.
TEST_F(HopsTest, IntervalRestartsWhenTheBufferWasEmpty) {
  bench.store(0, kW0, 1);
  bench.at(at_ns(100), [&] { bench.ofence(0); });
  bench.at(at_ns(200), [&] { bench.store(0, kW1, 2); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(120)}, {kL1, 2, at_ns(1220)}}));
}

TEST_F(HopsTest, BufferFlushesWithSixteenEntries) {
  for (std::uint64_t i = 0; i < 15; ++i) bench.store(0, pm_word(i), i);
  bench.store(0, pm_word(3), 3);  // joins
  bench.run_until(at_ns(100));
  EXPECT_TRUE(bench.arrivals.empty());
  bench.store(0, pm_word(15), 15);
  bench.run();
  ASSERT_EQ(bench.arrivals.size(), 16);
  for (std::int64_t i = 0; i < 16; ++i) {  // one leaves a cycle
    const Arrival& arrival = bench.arrivals[static_cast<std::size_t>(i)];
    EXPECT_EQ(arrival.line, pm_line_of(static_cast<std::uint64_t>(i)));
    EXPECT_EQ(arrival.when, at_ns(120) + kBenchCycle * i);
  }
}

// A buffer flushes until it is empty: a store that arrives meanwhile leaves at once, behind the
// others.
TEST_F(HopsTest, FlushingContinuesUntilTheBufferIsEmpty) {
  bench.store(0, kW0, 1);
  bench.ofence(0);
  bench.at(at_ns(40), [&] { bench.store(0, kW1, 2); });  // the buffer is empty since 33
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(1060)}}));
}

// ---- Rules 1 and 2: epochs

TEST_F(HopsTest, OfenceStartsFlushingWithoutAStall) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  EXPECT_TRUE(bench.ofence(0).at_once);
  bench.store(0, kW2, 3);
  bench.run();
  // The second epoch leaves when the whole of the first one is acknowledged: at 33.5.
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ps(20'500)}, {kL2, 3, at_ps(53'500)}}));
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ps(33'500)}}));
  EXPECT_EQ(count("epochs"), 1);
}

TEST_F(HopsTest, OfenceOfAnEmptyEpochEndsNoEpoch) {
  bench.ofence(0);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}}));
  bench.store(0, kW0, 1);
  bench.ofence(0);
  bench.ofence(0);
  bench.run();
  EXPECT_EQ(count("epochs"), 1);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}, {0, 2, at_ns(33)}, {0, 3, at_ns(33)}}));
}

TEST_F(HopsTest, StoreCoalescesWithAnEntryOfItsEpoch) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.store(0, pm_word(0, 1), 3);
  bench.ofence(0);
  bench.store(0, kW0, 4);  // another epoch
  bench.run();
  ASSERT_EQ(bench.arrivals.size(), 3);
  EXPECT_EQ(bench.arrivals[0], (Arrival{kL0, 1, at_ns(20), bytes_from(0, 16)}));
  EXPECT_EQ(bench.arrivals[2], (Arrival{kL0, 4, at_ps(53'500)}));
  EXPECT_EQ(count("coalesced"), 1);
}

TEST_F(HopsTest, StoreDoesNotCoalesceWithAnEntryThatHasLeft) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.ofence(0);
  bench.store(0, kW2, 3);  // leaves at 33.5
  bench.at(at_ns(34), [&] { bench.store(0, kW2, 4); });
  bench.run();
  EXPECT_EQ(bench.arrivals[2], (Arrival{kL2, 3, at_ps(53'500)}));
  EXPECT_EQ(bench.arrivals[3], (Arrival{kL2, 4, at_ns(54)}));
}

TEST_F(HopsTest, DfenceStallsTheNextStoreOfItsCoreOnly) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  EXPECT_TRUE(bench.dfence(0).at_once) << "loads and volatile stores go on";
  const Answer& store = bench.store(0, kW2, 3);
  const Answer& of_another = bench.store(1, pm_word(3), 4);
  EXPECT_FALSE(store.at_once);
  EXPECT_TRUE(of_another.at_once);
  bench.run();
  EXPECT_EQ(store.when, at_ps(33'500));
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ps(33'500)}}));
  EXPECT_EQ(count("dfences"), 1);
  EXPECT_EQ(count("full"), 0);
}

TEST_F(HopsTest, OfenceDoesNotEndTheStallOfADfence) {
  bench.begin(0, 1);
  bench.store(0, kW0, 1);
  EXPECT_TRUE(bench.dfence(0).at_once);
  EXPECT_TRUE(bench.ofence(0).at_once);
  EXPECT_TRUE(bench.end(0).at_once);
  EXPECT_TRUE(bench.durable.empty());
  const Answer& store = bench.store(0, kW1, 2);
  EXPECT_FALSE(store.at_once);
  bench.run();
  EXPECT_EQ(store.when, at_ns(33));
  EXPECT_EQ(bench.durable, (Notices{{0, 1, at_ns(33)}}));
}

TEST_F(HopsTest, ReleaseWaitsForADfence) {
  bench.store(0, kW0, 1);
  EXPECT_TRUE(bench.release(0).at_once) << "stores alone don't stop it";
  bench.fence(0, trace::FenceMeaning::kBare);  // acts as a dfence
  const Answer& release = bench.release(0);
  bench.run();
  EXPECT_EQ(release.when, at_ns(33));
  EXPECT_TRUE(bench.release(0).at_once);
}

TEST_F(HopsTest, DfenceOfAnEmptyBufferCompletesAtOnce) {
  bench.dfence(0);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}}));
  EXPECT_TRUE(bench.store(0, kW0, 1).at_once);
  EXPECT_EQ(count("dfences"), 0);
}

struct HopsOfencesOnlyEndEpochs : HopsTest {
  HopsOfencesOnlyEndEpochs() : HopsTest({.ofence = Ofence::kEndsEpoch, .faults = {}}) {}
};
TEST_F(HopsOfencesOnlyEndEpochs, OfenceDoesNotStartFlushing) {
  bench.store(0, kW0, 1);
  EXPECT_TRUE(bench.ofence(0).at_once);
  bench.store(0, kW1, 2);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(1020)}, {kL1, 2, at_ns(1053)}}));
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(1033)}}));
  EXPECT_EQ(count("epochs"), 1);
}
TEST_F(HopsOfencesOnlyEndEpochs, DfenceStartsFlushing) {
  bench.store(0, kW0, 1);
  bench.ofence(0);
  bench.at(at_ns(10), [&] { bench.dfence(0); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(30)}}));
}

struct HopsDfencesStallStoreQueue : HopsTest {
  HopsDfencesStallStoreQueue()
      : HopsTest({.dfence_stops = DurableFence::kStopsStoreQueue, .faults = {}}) {}
};
TEST_F(HopsDfencesStallStoreQueue, DfenceStallsTheStoreQueue) {
  EXPECT_TRUE(bench.dfence(0).at_once) << "the buffer is empty";
  bench.store(0, kW0, 1);
  EXPECT_TRUE(bench.ofence(0).at_once);
  const Answer& dfence = bench.dfence(0);
  EXPECT_FALSE(dfence.at_once);
  bench.run();
  EXPECT_EQ(dfence.when, at_ns(33));
  EXPECT_EQ(bench.fulfilled.back(), (Notice{0, 3, at_ns(33)}));
  EXPECT_TRUE(bench.store(0, kW1, 2).at_once);
}

// Rule 8.
TEST_F(HopsTest, RegionIsDurableWhenTheDfenceBeforeItsEndCompletes) {
  bench.begin(0, 1);
  bench.store(0, kW0, 1);
  bench.dfence(0);
  EXPECT_TRUE(bench.end(0).at_once);
  EXPECT_TRUE(bench.durable.empty());
  bench.run();
  EXPECT_EQ(bench.durable, (Notices{{0, 1, at_ns(33)}}));
  bench.begin(0, 2);
  bench.end(0);
  EXPECT_EQ(bench.durable.back(), (Notice{0, 2, bench.now()}));
}

// ---- A full buffer

struct HopsOfTwoEntries : HopsTest {
  HopsOfTwoEntries() : HopsTest({.buffer_entries = 2, .faults = {}}) {}
};
TEST_F(HopsOfTwoEntries, StoreStallsUntilAnEntryIsFree) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  const Answer& third = bench.store(0, kW2, 3);  // begins to flush
  EXPECT_FALSE(third.at_once);
  bench.run();
  EXPECT_EQ(third.when, at_ns(33));
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ps(20'500)}, {kL2, 3, at_ns(53)}}));
  EXPECT_EQ(count("full"), 1);
}

// A controller whose queue is full holds the epoch up: its bank takes 94 ns for each line.
struct HopsWithAFullQueue : HopsTest {
  HopsWithAFullQueue() : HopsTest({}, ordering_memory(1, 1)) {}
};
TEST_F(HopsWithAFullQueue, EpochWaitsForTheLastStoreOfThePreviousEpoch) {
  for (const std::uint64_t line : {0, 4, 8}) bench.store(0, pm_word(line), line);
  bench.ofence(0);
  bench.store(0, pm_word(1), 1);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 0, at_ns(20)},
                                      {pm_line_of(4), 4, at_ps(20'500)},
                                      {pm_line_of(8), 8, at_ns(114)},
                                      {kL1, 1, at_ns(208)}}))
      << "leaves at 127, arrives at 147, and waits for the entry that line 8 has until 208";
}

// ---- Rule 4: dependences. Cores look every 500 ns.

TEST_F(HopsTest, StoreFollowsTheEpochOfThePreviousStoreToItsLine) {
  bench.at(at_ns(10), [&] {
    bench.store(0, kW0, 1);
    bench.store(1, kW0, 2);
    bench.ofence(1);
  });
  bench.run();
  // The first core's epoch has persisted at 43, which the second one learns of at 500.
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(30)}, {kL0, 2, at_ns(520)}}));
  EXPECT_EQ(count("dependences"), 1);
  EXPECT_EQ(bench.fulfilled, (Notices{{1, 1, at_ns(533)}}));
}

TEST_F(HopsTest, StoreAfterALoadFollowsTheEpochOfTheLoadedStore) {
  bench.store(0, kW0, 1);
  bench.store(1, kW1, 2);
  bench.load(1, kW0);
  bench.load(1, kW0);
  bench.store(1, kW2, 3);
  bench.ofence(1);
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(20)}, {kL2, 3, at_ns(520)}}));
  EXPECT_EQ(count("dependences"), 1);
}

// The read of line 0 starts the flush, so the two stores of one epoch have an entry each. The first
// one is acknowledged at 34, the second one at 43, and core 1 learns of that at 500.
TEST_F(HopsTest, StoreFollowsTheLaterOfTwoEntriesOfALine) {
  bench.store(0, kW0, 1);
  bench.fetch(1, kL0);
  bench.at(at_ns(10), [&] { bench.store(0, kW0, 2); });
  bench.at(at_ns(35), [&] {
    bench.load(1, kW0);
    bench.store(1, kW1, 3);
    bench.ofence(1);
  });
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(21)}, {kL0, 2, at_ns(30)}, {kL1, 3, at_ns(520)}}));
  EXPECT_EQ(count("dependences"), 1);
}

// An acknowledgement at the time of a poll comes after the poll; the next poll, 500 ns later, sees
// it.
TEST_F(HopsTest, StoreAcknowledgedAtTheTimeOfAPollIsSeenByTheNextPoll) {
  bench.at(at_ns(467), [&] {  // acknowledged at 500
    bench.store(0, kW0, 1);
    bench.load(1, kW0);
    bench.store(1, kW1, 2);
    bench.ofence(1);
  });
  bench.run();
  EXPECT_EQ(bench.arrivals[1].when, at_ns(1020)) << "the poll at 500 comes before the answer";
}

TEST_F(HopsTest, LoadOfAPersistedStoreCreatesNoDependence) {
  bench.store(0, kW0, 1);
  bench.ofence(0);
  bench.at(at_ns(40), [&] {
    bench.load(1, kW0);
    bench.store(1, kW1, 2);
    bench.ofence(1);
  });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(60)}}));
  EXPECT_EQ(count("dependences"), 0);
}

// A dfence waits for the stores that its core has read, even if the core has stored nothing.
TEST_F(HopsTest, DfenceWaitsForStoresThatItsCoreHasRead) {
  bench.store(0, kW0, 1);
  bench.load(1, kW0);
  bench.dfence(1);
  const Answer& release = bench.release(1);
  bench.run();
  EXPECT_EQ(release.when, at_ns(500));
  EXPECT_EQ(bench.fulfilled, (Notices{{1, 1, at_ns(500)}}));
}

// A core ends its current epoch when another core depends on it. Its later stores belong to the
// next epoch, on which the other core doesn't depend.
TEST_F(HopsTest, DependenceExcludesLaterStoresOfTheOtherCore) {
  bench.store(0, kW0, 1);
  bench.load(1, kW0);
  bench.store(0, kW1, 2);  // belongs to the next epoch
  bench.store(1, kW2, 3);
  bench.store(0, kW2, 4);  // depends on the other core's store
  bench.ofence(1);
  bench.ofence(0);
  bench.run();
  EXPECT_EQ(
      bench.arrivals,
      (Arrivals{
          {kL0, 1, at_ns(20)}, {kL1, 2, at_ns(53)}, {kL2, 3, at_ns(520)}, {kL2, 4, at_ns(1020)}}));
}

// An epoch without stores has nothing that could be acknowledged.
TEST_F(HopsTest, EmptyEpochCompletesWithTheEpochsThatItFollows) {
  bench.store(0, kW0, 1);
  bench.load(1, kW0);
  bench.store(0, kW1, 2);
  bench.load(1, kW1);  // ends the second core's epoch, which has only read
  bench.at(at_ns(600), [&] {
    for (std::uint64_t i = 2; i < 18; ++i) bench.store(1, pm_word(i), i);
  });
  bench.run();
  ASSERT_EQ(bench.arrivals.size(), 18);
  for (std::uint64_t i = 2; i < 18; ++i) {
    const Picoseconds after = kBenchCycle * static_cast<std::int64_t>(i - 2);
    EXPECT_EQ(bench.arrivals[i], (Arrival{pm_line_of(i), i, at_ns(620) + after}));
  }
}

// A poll decides which stores may leave, not when they leave.
TEST_F(HopsTest, PollDoesNotStartFlushing) {
  bench.store(0, kW0, 1);
  bench.load(1, kW0);
  bench.ofence(1);
  bench.at(at_ns(100), [&] { bench.store(1, kW1, 2); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(1120)}}));
}

// ---- Rules 5 and 6: reads

// Figure 3, which can't happen to HOPS.
TEST_F(HopsTest, ReadWaitsForTheStoreToItsLine) {
  bench.store(0, kW0, 1);
  bench.evict(kL0);
  const Answer& read = bench.fetch(1, kL0);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(21)}})) << "it has begun to flush";
  EXPECT_EQ(read.when, at_ns(34) + kPmRead);
  EXPECT_EQ(count("filtered_reads"), 1);
  EXPECT_EQ(count("falsely_filtered_reads"), 0);
  EXPECT_EQ(count("stale_reads"), 0);
}

// The filter does not know which core has made a store.
TEST_F(HopsTest, StoreDuringAReadsWaitLeavesAtOnce) {
  bench.store(0, kW0, 1);
  bench.fetch(1, kL0);
  bench.at(at_ns(10), [&] { bench.store(1, kW1, 2); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(21)}, {kL1, 2, at_ns(30)}}));
}

// Two cycles, a miss of the filter or not.
TEST_F(HopsTest, EveryReadTakesTheLatencyOfTheFilter) {
  const Answer& read = bench.fetch(0, kL0);
  bench.run();
  EXPECT_EQ(read.when, Time{} + kBenchCycle * 2 + kPmRead);
  EXPECT_EQ(count("filtered_reads"), 0);
}

// A filter of eight counters takes every line for one that is in a buffer.
struct HopsWithATinyFilter : HopsTest {
  HopsWithATinyFilter() : HopsTest({.filter_size = {1}, .faults = {}}) {}
};
TEST_F(HopsWithATinyFilter, ReadWaitsForAFalsePositive) {
  std::uint64_t other = 1;
  CountingBloomFilter filter(8);
  filter.insert(kL0);
  while (!filter.contains(pm_line_of(other))) ++other;
  bench.store(0, kW0, 1);
  const Answer& read = bench.fetch(1, pm_line_of(other));
  bench.run();
  EXPECT_EQ(read.when, at_ns(34) + kPmRead);
  EXPECT_EQ(count("filtered_reads"), 1);
  EXPECT_EQ(count("falsely_filtered_reads"), 1);
}

// The filter is looked up once, two cycles after the read arrives. Stores that arrive during these
// cycles count, too.
TEST_F(HopsWithATinyFilter, ReadWaitsForAStoreBufferedDuringTheLookUp) {
  std::uint64_t other = 1;
  CountingBloomFilter filter(8);
  filter.insert(kL0);
  while (!filter.contains(pm_line_of(other))) ++other;
  const Answer& read = bench.fetch(1, pm_line_of(other));
  bench.at(at_ps(500), [&] { bench.store(0, kW0, 1); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(21)}})) << "a read that waits makes it flush";
  EXPECT_EQ(read.when, at_ns(34) + kPmRead);
  EXPECT_EQ(count("filtered_reads"), 1);
}

TEST_F(HopsTest, ReadDoesNotWaitForAStorePersistedDuringTheLookUp) {
  bench.store(0, kW0, 1);
  bench.ofence(0);
  const Answer* read = nullptr;
  bench.at(at_ps(32'500), [&] { read = &bench.fetch(1, kL0); });
  bench.run();
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->when, at_ps(33'500) + kPmRead);
  EXPECT_EQ(count("filtered_reads"), 0);
}

// Rule 7.
TEST_F(HopsTest, EveryLineFillTakesOneMoreCycle) {
  EXPECT_EQ(bench.clock.duration(bench.ordering->transfer_latency()), kBenchCycle);
}

// ---- Injected faults: a protection is removed

struct HopsWithoutEpochs : HopsTest {
  HopsWithoutEpochs() : HopsTest({.faults = {.epochs = true}}, ordering_memory(2, 1)) {}
};
TEST_F(HopsWithoutEpochs, EpochArrivesBeforeThePreviousEpoch) {
  for (const std::uint64_t line : {0, 8, 16}) bench.store(0, pm_word(line), line);
  bench.ofence(0);
  bench.store(0, kW1, 1);  // a line of the other controller
  bench.run();
  EXPECT_EQ(bench.arrivals.back().line, pm_line_of(0));
}

struct HopsWithoutDependences : HopsTest {
  HopsWithoutDependences() : HopsTest({.faults = {.dependences = true}}) {}
};
TEST_F(HopsWithoutDependences, StoreDoesNotFollowStoresThatItsCoreHasRead) {
  bench.store(0, kW0, 1);
  bench.load(1, kW0);
  bench.store(1, kW1, 2);
  bench.ofence(1);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL1, 2, at_ns(20)}, {kL0, 1, at_ns(1020)}}));
}

struct HopsWithoutFilter : HopsTest {
  HopsWithoutFilter() : HopsTest({.faults = {.filter = true}}) {}
};
TEST_F(HopsWithoutFilter, ReadsAreStale) {
  bench.store(0, kW0, 1);
  bench.evict(kL0);
  bench.fetch(0, kL0);
  bench.at(at_ns(2), [&] { bench.load(0, kW0); });
  bench.run();
  EXPECT_EQ(count("stale_reads"), 1);
  EXPECT_EQ(bench.stale_loads.size(), 1);
}

struct HopsWithoutDfences : HopsTest {
  HopsWithoutDfences() : HopsTest({.faults = {.dfence = true}}) {}
};
TEST_F(HopsWithoutDfences, FencesAreFulfilledTooEarly) {
  bench.store(0, kW0, 1);
  bench.dfence(0);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}}));
  EXPECT_TRUE(bench.store(0, kW1, 2).at_once);
}

}  // namespace
}  // namespace pmemsim
