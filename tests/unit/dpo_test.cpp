// DPO, rule by rule (designs/ordering/dpo.hpp), with times computed by hand: a path of 20 ns, one
// write at a time on all paths, and 13 ns from a write's acceptance to the notification of its
// core.
#include <gtest/gtest.h>

#include "pmemsim/designs/ordering/dpo.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "unit/ordering_bench.hpp"

namespace pmemsim {
namespace {

class DpoTest : public testing::Test {
 protected:
  explicit DpoTest(const DpoParameters& parameters = {},
                   const MemoryParameters& memory = ordering_memory())
      : bench(2, std::make_unique<DpoOrdering>(2, true, parameters), memory) {}
  double count(const std::string& name) const { return bench.statistic("dpo." + name); }

  static constexpr std::uint64_t kW0 = pm_word(0), kW1 = pm_word(1), kW2 = pm_word(2);
  static constexpr Line kL0 = pm_line_of(0), kL1 = pm_line_of(1), kL2 = pm_line_of(2);
  OrderingBench bench;
};

// Rules 1 and 3.
TEST_F(DpoTest, OnlyOneWriteIsInFlight) {
  for (const std::uint64_t word : {kW0, kW1, kW2}) EXPECT_TRUE(bench.store(0, word, 7).at_once);
  EXPECT_EQ(bench.ordering->pending(), "3 entries in the persist buffer of core 0");
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 7, at_ns(20)}, {kL1, 7, at_ns(40)}, {kL2, 7, at_ns(60)}}));
  EXPECT_EQ(bench.ordering->pending(), "");
}

TEST_F(DpoTest, CoresWriteInTurn) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.store(1, kW2, 3);
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL2, 3, at_ns(40)}, {kL1, 2, at_ns(60)}}));
}

struct DpoOldestFirst : DpoTest {
  DpoOldestFirst() : DpoTest({.turn = DpoTurn::kOldest, .faults = {}}) {}
};
TEST_F(DpoOldestFirst, OldestStoreLeavesFirst) {
  bench.store(1, kW0, 1);
  bench.store(1, kW1, 2);
  bench.store(1, kW2, 3);
  bench.store(0, pm_word(3), 4);
  bench.store(1, pm_word(4), 5);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)},
                                      {kL1, 2, at_ns(40)},
                                      {kL2, 3, at_ns(60)},
                                      {pm_line_of(3), 4, at_ns(80)},
                                      {pm_line_of(4), 5, at_ns(100)}}));
}
TEST_F(DpoOldestFirst, DependentStoreIsSkippedForYoungerStores) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.store(1, kW1, 3);  // follows that, which is acknowledged at 53
  bench.store(0, kW2, 4);
  bench.run();
  EXPECT_EQ(
      bench.arrivals,
      (Arrivals{
          {kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}, {kL2, 4, at_ns(60)}, {kL1, 3, at_ns(80)}}));
}

struct DpoTokenUntilAcknowledged : DpoTest {
  DpoTokenUntilAcknowledged() : DpoTest({.token_until = DpoToken::kAcknowledged, .faults = {}}) {}
};
TEST_F(DpoTokenUntilAcknowledged, NextWriteLeavesWhenThePreviousIsAcknowledged) {
  bench.store(0, kW0, 1);
  bench.store(1, kW1, 2);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(53)}}));
}

// The token is held until the controller, whose queue is full, has accepted the write. Lines 0, 4
// and 8 are of one bank, which takes 94 ns for each.
struct DpoWithAFullQueue : DpoTest {
  DpoWithAFullQueue() : DpoTest({}, ordering_memory(1, 1)) {}
};
TEST_F(DpoWithAFullQueue, NextWriteLeavesWhenThePreviousIsAccepted) {
  for (const std::uint64_t line : {0, 4, 8, 12}) bench.store(0, pm_word(line), line);
  bench.store(1, kW1, 1);
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 0, at_ns(20)},                  // its bank writes it until 114
                      {kL1, 1, at_ns(40)},                  // the other core's, of another bank
                      {pm_line_of(4), 4, at_ns(60)},        // keeps the queue's one entry until 114
                      {pm_line_of(8), 8, at_ns(114)},       // has arrived at 80
                      {pm_line_of(12), 12, at_ns(208)}}));  // has arrived at 134
}

// Rule 1: the stores that coalesce.
TEST_F(DpoTest, StoreCoalescesWithTheYoungestEntryOfItsLine) {
  bench.store(0, kW0, 1);            // leaves at once
  bench.store(0, kW1, 2);            // waits for the token
  bench.store(0, pm_word(1, 1), 3);  // joins it
  bench.run();
  ASSERT_EQ(bench.arrivals.size(), 2);
  EXPECT_EQ(bench.arrivals[1], (Arrival{kL1, 2, at_ns(40), bytes_from(0, 16)}));
  EXPECT_EQ(bench.in_pm(pm_word(1, 1)), 3);
  EXPECT_EQ(count("coalesced"), 1);
  EXPECT_EQ(count("stores"), 3);
  EXPECT_EQ(count("flushes"), 2);
}

TEST_F(DpoTest, StoreDoesNotCoalesceWithAnEntryThatHasLeft) {
  bench.store(0, kW0, 1);
  bench.store(0, kW0, 2);
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL0, 2, at_ns(40)}}));
}

TEST_F(DpoTest, StoreDoesNotCoalesceWithAnOlderEntry) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.store(0, kW2, 3);
  bench.store(0, kW1, 4);
  bench.run();
  EXPECT_EQ(
      bench.arrivals,
      (Arrivals{
          {kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}, {kL2, 3, at_ns(60)}, {kL1, 4, at_ns(80)}}));
}

TEST_F(DpoTest, StoreDoesNotCoalesceAcrossABarrier) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.ofence(0);
  bench.store(0, kW1, 3);
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}, {kL1, 3, at_ns(60)}}));
  EXPECT_EQ(count("barriers"), 1);
}

TEST_F(DpoTest, StoreDoesNotCoalesceWithAnEntryThatAnotherCoreDependsOn) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.load(1, kW1);
  bench.store(0, kW1, 3);
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}, {kL1, 3, at_ns(60)}}));
}

// Rule 2: the operations that are barriers. Two stores to a line don't coalesce across a barrier.
struct DpoOfSixteenEntries : DpoTest {
  DpoOfSixteenEntries() : DpoTest({.buffer_entries = 16, .faults = {}}) {}
};
TEST_F(DpoOfSixteenEntries, FullFencesAndLocksAreBarriers) {
  bench.store(0, kW0, 1);
  std::uint64_t value = 1;
  const auto store = [&] { bench.store(0, kW1, ++value); };
  store();
  bench.lock(0);
  store();
  bench.release(0);
  store();
  bench.unlock(0);
  store();
  store();  // with nothing between: joins
  EXPECT_EQ(count("barriers"), 3);
  EXPECT_EQ(count("coalesced"), 1);
  bench.run();
  EXPECT_EQ(bench.arrivals.size(), 5);
}

// A barrier in an empty buffer orders nothing.
TEST_F(DpoTest, BarrierInAnEmptyBufferTakesNoEntry) {
  EXPECT_TRUE(bench.ofence(0).at_once);
  bench.store(0, kW0, 1);
  bench.run();
  EXPECT_EQ(count("barriers"), 0);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}}));
}

// Rules 1 and 2 with eight entries: a store waits until its entry is there, and one behind a
// barrier until there are two.
struct DpoOfTwoEntries : DpoTest {
  DpoOfTwoEntries() : DpoTest({.buffer_entries = 2, .faults = {}}) {}
};
TEST_F(DpoOfTwoEntries, StoreStallsUntilAnEntryIsFree) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  const Answer& third = bench.store(0, kW2, 3);
  EXPECT_FALSE(third.at_once);
  bench.run();
  EXPECT_EQ(third.when, at_ns(33)) << "the first one is acknowledged";
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}, {kL2, 3, at_ns(60)}}));
  EXPECT_EQ(count("full"), 1);
}
TEST_F(DpoOfTwoEntries, StoreAfterABarrierStallsUntilTwoEntriesAreFree) {
  bench.store(0, kW0, 1);
  bench.ofence(0);
  const Answer& second = bench.store(0, kW1, 2);
  EXPECT_FALSE(second.at_once);
  bench.run();
  EXPECT_EQ(second.when, at_ns(33));
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(53)}}));
  EXPECT_EQ(count("barriers"), 0) << "nothing is left for it to order";
}

struct DpoOfThreeEntries : DpoTest {
  DpoOfThreeEntries() : DpoTest({.buffer_entries = 3, .faults = {}}) {}
};
TEST_F(DpoOfThreeEntries, BarrierLeavesWithTheEntryBeforeIt) {
  bench.store(0, kW0, 1);
  bench.ofence(0);
  EXPECT_TRUE(bench.store(0, kW1, 2).at_once);
  const Answer& third = bench.store(0, kW2, 3);
  const Answer* fourth = nullptr;
  bench.at(Time{33'001}, [&] { fourth = &bench.store(0, pm_word(3), 4); });
  bench.run();
  EXPECT_EQ(third.when, at_ns(33));
  ASSERT_NE(fourth, nullptr);
  EXPECT_TRUE(fourth->at_once) << "two entries have become free";
}

// Rule 4. The first core's stores, which the second one's follow, leave at 0 and 20.
TEST_F(DpoTest, StoreFollowsTheEntryOfAnotherCoreForItsLine) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.store(1, kW1, 3);
  bench.store(1, kW2, 4);
  bench.run();
  // The store that arrives at 40 ns is acknowledged at 53 ns; the other core's store may leave only
  // then.
  EXPECT_EQ(
      bench.arrivals,
      (Arrivals{
          {kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}, {kL1, 3, at_ns(73)}, {kL2, 4, at_ns(93)}}));
  EXPECT_EQ(count("dependences"), 1);
}

TEST_F(DpoTest, StoreFollowsTheEntryThatItsCoreHasLoaded) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  bench.load(1, kW1);
  bench.load(1, kW1);
  bench.store(1, kW2, 3);
  bench.run();
  EXPECT_EQ(bench.arrivals,
            (Arrivals{{kL0, 1, at_ns(20)}, {kL1, 2, at_ns(40)}, {kL2, 3, at_ns(73)}}));
  EXPECT_EQ(count("dependences"), 1) << "the same once";
}

TEST_F(DpoTest, StoreWithADependenceDoesNotCoalesce) {
  bench.store(1, kW2, 1);  // has the token
  bench.store(0, kW0, 2);
  bench.store(1, kW1, 3);
  bench.load(1, kW0);
  bench.store(1, kW1, 4);
  bench.run();
  EXPECT_EQ(
      bench.arrivals,
      (Arrivals{
          {kL2, 1, at_ns(20)}, {kL0, 2, at_ns(40)}, {kL1, 3, at_ns(60)}, {kL1, 4, at_ns(80)}}));
  EXPECT_EQ(count("coalesced"), 0);
}

// An acknowledged store is persistent, so that no other store depends on it.
TEST_F(DpoTest, AcknowledgedEntryCausesNoDependence) {
  bench.store(0, kW0, 1);
  bench.at(at_ns(34), [&] { bench.store(1, kW0, 2); });
  bench.run();
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL0, 2, at_ns(54)}}));
  EXPECT_EQ(count("dependences"), 0);
}

TEST_F(DpoTest, ChainsOfStoresToALineKeepTheirOrder) {
  bench.store(0, kW0, 1);
  bench.store(1, kW0, 2);
  bench.store(0, kW0, 3);
  bench.store(1, kW0, 4);
  bench.run();
  EXPECT_EQ(
      bench.arrivals,
      (Arrivals{
          {kL0, 1, at_ns(20)}, {kL0, 2, at_ns(53)}, {kL0, 3, at_ns(86)}, {kL0, 4, at_ns(119)}}));
}

// Rule 5: figure 3, which can't happen to DPO. The first word is in the buffer until 33, the others
// until 53: then PM has to be asked, too.
TEST_F(DpoTest, ReadIsAnsweredByTheBuffersThatHoldItsLine) {
  for (std::uint64_t word = 0; word < 8; ++word) {
    bench.store(0, kW0 + 8 * word, word == 0 ? 1 : 0);
  }
  bench.evict(kL0);
  const Answer& early = bench.fetch(1, kL0);
  const Answer& other = bench.fetch(1, kL1);
  const Answer* late = nullptr;
  bench.at(at_ns(34), [&] { late = &bench.fetch(1, kL0); });
  bench.run();
  EXPECT_EQ(early.when, at_ns(0));
  EXPECT_EQ(other.when, Time{} + kPmRead);
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->when, at_ns(34) + kPmRead);
  EXPECT_EQ(count("buffer_reads"), 2);
  EXPECT_EQ(count("stale_reads"), 0);
  EXPECT_EQ(bench.arrivals, (Arrivals{{kL0, 1, at_ns(20)}, {kL0, 0, at_ns(40), kWholeLine << 8}}))
      << "rule 6: the eviction writes nothing";
}

// Rule 7.
TEST_F(DpoTest, TransferLatencyIncludesTheSnoopOfEveryBuffer) {
  const auto clock_time = [this](const Ordering& ordering) {
    return bench.clock.duration(ordering.transfer_latency());
  };
  EXPECT_EQ(clock_time(*bench.ordering), kBenchCycle * 2);
  const DpoOrdering sixteen(16, true, {.snoop_latency = nanoseconds(3), .faults = {}});
  EXPECT_EQ(clock_time(sixteen), ns(48));
}

// Rule 8.
TEST_F(DpoTest, DurableFenceWaitsForTheBuffer) {
  bench.store(0, kW0, 1);
  bench.store(0, kW1, 2);
  const Answer& ordering = bench.ofence(0);
  const Answer& durable = bench.dfence(0);
  EXPECT_TRUE(ordering.at_once);
  EXPECT_FALSE(durable.at_once);
  bench.run();
  EXPECT_EQ(durable.when, at_ns(53));
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(53)}, {0, 2, at_ns(53)}}));
}

TEST_F(DpoTest, FenceOfUnknownMeaningWaitsForTheBuffer) {
  bench.store(0, kW0, 1);
  const Answer& bare = bench.fence(0, trace::FenceMeaning::kBare);
  bench.run();
  EXPECT_EQ(bare.when, at_ns(33));
}

struct DpoAllFencesDrain : DpoTest {
  DpoAllFencesDrain() : DpoTest({.draining_fences = DpoDrains::kAll, .faults = {}}) {}
};
TEST_F(DpoAllFencesDrain, OrderingFenceWaitsForTheBuffer) {
  EXPECT_TRUE(bench.ofence(0).at_once) << "the buffer is empty";
  bench.store(0, kW0, 1);
  const Answer& fence = bench.ofence(0);
  EXPECT_FALSE(fence.at_once);
  bench.run();
  EXPECT_EQ(fence.when, at_ns(33));
  EXPECT_EQ(bench.fulfilled.back(), (Notice{0, 2, at_ns(33)}));
}

TEST_F(DpoTest, FenceDoesNotWaitForOtherCores) {
  bench.store(1, kW0, 1);
  EXPECT_TRUE(bench.dfence(0).at_once);
}

TEST_F(DpoTest, OrderingFenceIsFulfilledByTheStoresBeforeIt) {
  bench.store(0, kW0, 1);
  bench.ofence(0);
  bench.store(0, kW1, 2);
  bench.run();
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(33)}}));
}

// ---- Injected faults: a protection is removed

struct DpoOutOfOrder : DpoTest {
  DpoOutOfOrder() : DpoTest({.faults = {.order = true}}) {}
};
TEST_F(DpoOutOfOrder, LaterOfTwoEntriesLeavesFirst) {
  bench.store(1, pm_word(3), 1);
  bench.store(0, kW0, 2);
  bench.store(0, kW1, 3);
  bench.run();
  EXPECT_EQ(bench.arrivals[1].line, kL1);
  EXPECT_EQ(bench.arrivals[2].line, kL0);
}

struct DpoWithoutDependences : DpoTest {
  DpoWithoutDependences() : DpoTest({.faults = {.dependences = true}}) {}
};
TEST_F(DpoWithoutDependences, StoreDoesNotFollowTheEntryThatItsCoreHasLoaded) {
  bench.store(0, pm_word(3), 1);
  bench.store(0, kW0, 2);
  bench.load(1, kW0);
  bench.store(1, kW1, 3);
  bench.run();
  EXPECT_EQ(bench.arrivals[1].line, kL1) << "before line 0, which its core has read";
}

struct DpoWithoutSnoops : DpoTest {
  DpoWithoutSnoops() : DpoTest({.faults = {.snoop = true}}) {}
};
TEST_F(DpoWithoutSnoops, ReadsAreStale) {
  bench.store(0, kW0, 1);
  bench.evict(kL0);
  const Answer& read = bench.fetch(0, kL0);
  bench.load(0, kW0);
  bench.run();
  EXPECT_EQ(read.when, Time{} + kPmRead);
  EXPECT_EQ(count("stale_reads"), 1);
  EXPECT_EQ(bench.stale_loads.size(), 1);
}

struct DpoWithoutFences : DpoTest {
  DpoWithoutFences() : DpoTest({.faults = {.fence = true}}) {}
};
TEST_F(DpoWithoutFences, FencesAreFulfilledTooEarly) {
  bench.store(0, kW0, 1);
  EXPECT_TRUE(bench.dfence(0).at_once);
  EXPECT_EQ(bench.fulfilled, (Notices{{0, 1, at_ns(0)}}));
}

}  // namespace
}  // namespace pmemsim
