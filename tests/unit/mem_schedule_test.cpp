// The channel's schedule, against times worked out by hand from the timings of simple_memory().
#include <gtest/gtest.h>

#include "memory_bench.hpp"

namespace pmemsim {
namespace {

using Times = std::vector<Time>;

// Expects an event at exactly t: not at t - 1 ps.
#define EXPECT_AT(bench, times, number, when)                                         \
  do {                                                                                \
    (bench).run_until((when) - Picoseconds{1});                                       \
    EXPECT_FALSE((bench).times.count(number)) << #times " of " << number << " early"; \
    (bench).run_until(when);                                                          \
    EXPECT_EQ((bench).times[number], Times{when});                                    \
  } while (false)

TEST(MemorySchedule, RowMissTakesActivateColumnAndBurst) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0));
  EXPECT_AT(bench, read_at, 1, at_ns(10 + 20 + 5));
  EXPECT_EQ(bench.memory.statistics().row_misses, 1u);
}

TEST(MemorySchedule, ControllerLatenciesArePartOfARead) {
  MemoryParameters p = simple_memory();
  p.front_latency = ns(11);
  p.back_latency = ns(13);
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0));
  EXPECT_AT(bench, read_at, 1, at_ns(35 + 11 + 13));
}

TEST(MemorySchedule, RowHitsFollowOneBurstApart) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0, 0));
  bench.read(2, line_in(0, 0, 1));
  EXPECT_AT(bench, read_at, 1, at_ns(35));
  EXPECT_AT(bench, read_at, 2, at_ns(40));
  EXPECT_EQ(bench.memory.statistics().row_hits, 1u);
}

TEST(MemorySchedule, RowHitOnAnOpenRowNeedsNoActivate) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0, 0));
  bench.run_until(at_ns(200));
  bench.read(2, line_in(0, 0, 1));
  EXPECT_AT(bench, read_at, 2, at_ns(200 + 20 + 5));
}

TEST(MemorySchedule, RowConflictPrechargesFirst) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0));
  bench.run_until(at_ns(200));
  bench.read(2, line_in(0, 1));
  EXPECT_AT(bench, read_at, 2, at_ns(200 + 30 + 10 + 20 + 5));
  EXPECT_EQ(bench.memory.statistics().row_conflicts, 1u);
}

TEST(MemorySchedule, PrechargeWaitsForTras) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0));
  bench.read(2, line_in(0, 1));
  // tRTP would allow the precharge at 10 + 6, tRAS only at 50.
  EXPECT_AT(bench, read_at, 2, at_ns(50 + 30 + 10 + 20 + 5));
}

TEST(MemorySchedule, PrechargeAfterAReadWaitsForTrtp) {
  MemoryParameters p = simple_memory();
  p.tras = ns(0);
  p.trtp = ns(60);
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0));
  bench.read(2, line_in(0, 1));
  EXPECT_AT(bench, read_at, 2, at_ns(10 + 60 + 30 + 10 + 20 + 5));
}

TEST(MemorySchedule, ActivatesOfTwoBanksAreTrrdApart) {
  MemoryParameters p = simple_memory();
  p.trrd = ns(9);
  p.tfaw = ns(0);
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0));
  bench.read(2, line_in(1, 0));
  EXPECT_AT(bench, read_at, 1, at_ns(35));
  EXPECT_AT(bench, read_at, 2, at_ns(9 + 35));
}

TEST(MemorySchedule, BusTransfersOneBurstAtATime) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0));
  bench.read(2, line_in(1, 0));  // its activate could go at 2, but the bus is free at 35 only
  EXPECT_AT(bench, read_at, 2, at_ns(40));
}

TEST(MemorySchedule, RowHitGoesBeforeAReservedBurst) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0, 0));
  bench.run_until(at_ns(200));
  bench.read(2, line_in(1, 0));  // on the bus from 230 to 235
  bench.run_until(at_ns(201));
  bench.read(3, line_in(0, 0, 1));  // its row is open: on the bus from 221 to 226
  EXPECT_AT(bench, read_at, 3, at_ns(226));
  EXPECT_AT(bench, read_at, 2, at_ns(235));
}

TEST(MemorySchedule, FifthActivateWaitsForTfaw) {
  MemoryParameters p = simple_memory();
  p.banks_per_rank = 8;
  MemoryBench bench(p);
  for (std::uint64_t bank = 0; bank < 5; ++bank) bench.read(bank, Line{bank * 2});
  // Activates at 0, 5, 10, 15 (the bus spaces them), the fifth at 40 instead of 20.
  EXPECT_AT(bench, read_at, 3, at_ns(15 + 35));
  EXPECT_AT(bench, read_at, 4, at_ns(40 + 35));
}

TEST(MemorySchedule, RowHitPrecedesAnOlderRowConflict) {
  MemoryBench bench(simple_memory());
  bench.read(1, line_in(0, 0, 0));
  bench.read(2, line_in(0, 1, 0));  // older, but the third hits the open row
  bench.read(3, line_in(0, 0, 1));
  EXPECT_AT(bench, read_at, 3, at_ns(40));
  EXPECT_AT(bench, read_at, 2, at_ns(50 + 30 + 35));
}

TEST(MemorySchedule, ReadThatArrivesDuringThePrechargeIsNoRowHit) {
  MemoryParameters p = simple_memory();
  p.tras = ns(0);
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0, 0));
  bench.run_until(at_ns(100));
  bench.read(2, line_in(0, 1));  // precharge at 100
  bench.run_until(at_ns(101));
  bench.read(3, line_in(0, 0, 1));  // its row is gone
  EXPECT_AT(bench, read_at, 2, at_ns(165));
  // The second's row opens at 130, its column goes at 140, precharge at 146.
  EXPECT_AT(bench, read_at, 3, at_ns(146 + 30 + 35));
}

TEST(MemorySchedule, ClosedPagePolicyHidesThePrecharge) {
  MemoryParameters p = simple_memory();
  p.page_policy = PagePolicy::kClosed;
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0, 0));
  bench.run_until(at_ns(200));
  bench.read(2, line_in(0, 1));
  EXPECT_AT(bench, read_at, 2, at_ns(200 + 35));
}

TEST(MemorySchedule, RowConflictPrecedesRowHitsBeyondTheAccessLimitOfARow) {
  MemoryParameters p = simple_memory();
  p.max_accesses_per_row = 2;
  p.row_size = p.page_size = {256};
  MemoryBench bench(p);
  bench.read(0, Line{0});
  bench.read(1, Line{1});
  bench.read(2, Line{16});  // the next row of the same bank
  bench.read(3, Line{2});   // a hit, but the third, and younger
  EXPECT_AT(bench, read_at, 1, at_ns(40));
  EXPECT_AT(bench, read_at, 2, at_ns(50 + 30 + 35));
  EXPECT_AT(bench, read_at, 3, at_ns(50 + 30 + 50 + 30 + 35));
}

TEST(MemorySchedule, RowStaysOpenWithoutOtherAccessesToItsBank) {
  MemoryParameters p = simple_memory();
  p.max_accesses_per_row = 2;
  p.row_size = p.page_size = {256};
  MemoryBench bench(p);
  for (std::uint64_t column = 0; column < 4; ++column) bench.read(column, Line{column});
  EXPECT_AT(bench, read_at, 3, at_ns(50));
}

TEST(MemorySchedule, ReadAfterWriteWaitsForTwtr) {
  MemoryParameters p = simple_memory();
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  bench.write(1, line_in(0, 0, 0));
  bench.run_until(at_ns(1));
  bench.read(2, line_in(1, 0));
  // Write data from 10 + 15 to 30; read command at 30 + 7.
  EXPECT_AT(bench, read_at, 2, at_ns(30 + 7 + 20 + 5));
  EXPECT_AT(bench, written_at, 1, at_ns(30 + 100));
}

TEST(MemorySchedule, WriteAfterReadWaitsForTheBusTurnaround) {
  MemoryParameters p = simple_memory();
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0));
  bench.run_until(at_ns(1));
  bench.write(2, line_in(1, 0));
  // Read data until 35; without the turn-around the write's data would come at 1 + 10 + 15.
  EXPECT_AT(bench, written_at, 2, at_ns(35 + 3 + 5 + 100));
}

TEST(MemorySchedule, PrechargeAfterAWriteWaitsForTwr) {
  MemoryParameters p = simple_memory();
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  bench.write(1, line_in(0, 0));
  bench.write(2, line_in(0, 1));
  EXPECT_AT(bench, written_at, 1, at_ns(10 + 15 + 5 + 100));
  EXPECT_AT(bench, written_at, 2, at_ns(130 + 30 + 130));
}

TEST(MemorySchedule, LatencyFactorScalesTheArrayNotTheBus) {
  MemoryParameters p = simple_memory();
  p.latency_factor = {4};
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0));
  EXPECT_AT(bench, read_at, 1, at_ns(4 * 10 + 4 * 20 + 5));
}

TEST(MemorySchedule, RefreshDelaysReadsAndClosesTheRow) {
  MemoryParameters p = simple_memory();
  p.trefi = ns(1000);
  p.trfc = ns(300);
  MemoryBench bench(p);
  bench.run_until(at_ns(1100));
  bench.read(1, line_in(0, 0));
  EXPECT_AT(bench, read_at, 1, at_ns(1300 + 35));
  // Refreshes at 2000 and 3000 pass unseen; the one at 4000 is over at 4300.
  bench.run_until(at_ns(4400));
  bench.read(2, line_in(0, 0, 1));
  EXPECT_AT(bench, read_at, 2, at_ns(4400 + 35));  // the refresh has closed the row
  EXPECT_EQ(bench.memory.statistics().refreshes, 4u);
}

TEST(MemorySchedule, FixedDeviceOccupiesItsBankForItsLatency) {
  MemoryParameters p = simple_memory();
  p.device = DeviceKind::kFixed;
  p.persistence = PersistencePoint::kWritten;
  p.read_latency = ns(48);
  p.write_latency = ns(300);
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0, 0));
  bench.read(2, line_in(0, 0, 1));
  bench.read(3, line_in(1, 0));
  bench.write(4, line_in(2, 0));
  bench.write(5, line_in(2, 1));
  EXPECT_AT(bench, read_at, 1, at_ns(48 + 5));
  EXPECT_AT(bench, read_at, 3, at_ns(48 + 5 + 5));
  EXPECT_AT(bench, read_at, 2, at_ns(53 + 53));
  EXPECT_AT(bench, written_at, 4, at_ns(5 + 300));
  EXPECT_AT(bench, written_at, 5, at_ns(305 + 305));
}

TEST(MemorySchedule, ReadQueueHoldsReadsUntilTheyAreAnswered) {
  MemoryParameters p = simple_memory();
  p.read_queue_entries = 1;
  MemoryBench bench(p);
  bench.read(1, line_in(0, 0));
  bench.read(2, line_in(1, 0));
  EXPECT_AT(bench, read_at, 1, at_ns(35));
  EXPECT_AT(bench, read_at, 2, at_ns(35 + 35));
}

// --- Rule 2: the last writes of an idle channel -------------------------------------------------

MemoryParameters with_idle_writes(IdleWrites policy) {
  MemoryParameters p = simple_memory();
  p.idle_writes = policy;
  p.front_latency = ns(0);
  return p;
}

TEST(IdleWrites, DrainedWriteGoesToItsBankAtOnce) {
  MemoryBench bench(with_idle_writes(IdleWrites::kDrain));
  bench.write(1, line_in(0, 0));
  EXPECT_AT(bench, written_at, 1, at_ns(10 + 15 + 5 + 100));
}

TEST(IdleWrites, HeldWriteCoalescesUntilTheLowWatermarkIsExceeded) {
  MemoryBench bench(with_idle_writes(IdleWrites::kHold));
  for (std::uint64_t i = 0; i < 20; ++i) bench.write(i, line_in(0, 0));
  bench.run_until(at_ns(10'000));
  EXPECT_EQ(bench.memory.statistics().all_lines_written(), 0u);
  for (std::uint64_t i = 1; i < 5; ++i) bench.write(20 + i, line_in(i % 4, 1));
  bench.run_until(at_ns(20'000));
  EXPECT_GT(bench.memory.statistics().all_lines_written(), 0u);
}

// Opportunistic writes give way to a read, although min_writes_per_switch writes aren't done.
TEST(IdleWrites, ReadPrecedesDrainedWritesBelowTheLowWatermark) {
  MemoryParameters p = with_idle_writes(IdleWrites::kDrain);
  p.wpq_entries = 64;
  p.min_writes_per_switch = 16;
  MemoryBench bench(p);
  for (std::uint64_t i = 0; i < 8; ++i) bench.write(i, line_in(0, i));  // conflicts in one bank
  bench.run_until(at_ns(1));
  bench.read(100, line_in(1, 0));
  bench.run_until(at_ns(200));
  EXPECT_EQ(bench.read_at.count(100), 1u);
  EXPECT_LE(bench.memory.statistics().all_lines_written(), 2u);
  bench.run();
  EXPECT_EQ(bench.memory.statistics().all_lines_written(), 8u);
}

TEST(IdleWrites, FixedDeviceWritesOnlyWithoutReads) {
  MemoryParameters p = with_idle_writes(IdleWrites::kDrain);
  p.device = DeviceKind::kFixed;
  p.read_latency = ns(100);
  p.write_latency = ns(1000);
  MemoryBench bench(p);
  for (std::uint64_t i = 0; i < 3; ++i) bench.read(i, line_in(0, i));  // in turn, in one bank
  bench.write(9, line_in(1, 0));
  bench.run_until(at_ns(200));  // the last read is still queued
  EXPECT_EQ(bench.memory.statistics().all_lines_written(), 0u);
  bench.run();
  EXPECT_EQ(bench.memory.statistics().all_lines_written(), 1u);
}

}  // namespace
}  // namespace pmemsim
