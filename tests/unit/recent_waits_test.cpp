// The waits at a store queue's head, split by cause, and the locks that a thread holds.
#include "pmemsim/machine/cpu/recent_waits.hpp"

#include <gtest/gtest.h>

#include "pmemsim/machine/cpu/held_locks.hpp"

namespace pmemsim {
namespace {

TEST(RecentWaits, OnlyThePartWithinTheIntervalCounts) {
  RecentWaits waits;
  waits.add(10, 20, Cause::kFence);
  waits.add(25, 40, Cause::kCommit);
  waits.add(50, 60, Cause::kFence);
  EXPECT_EQ(waits.of(Cause::kFence, 15, 55), 10);
  EXPECT_EQ(waits.of(Cause::kFence, 20, 50), 0);
  const RecentWaits::ByCause sums = waits.by_cause(0, 30);
  EXPECT_EQ(sums[static_cast<std::size_t>(Cause::kFence)], 10);
  EXPECT_EQ(sums[static_cast<std::size_t>(Cause::kCommit)], 5);
  const RecentWaits::Parts parts = waits.parts(0, 100);
  EXPECT_EQ(parts.fence, 20);
  EXPECT_EQ(parts.commit, 15);
  EXPECT_EQ(parts.stores, 65);
}

TEST(RecentWaits, SeventeenthWaitReplacesTheFirst) {
  RecentWaits waits;
  for (Slot i = 0; i < 17; ++i) waits.add(10 * i, 10 * i + 1, Cause::kFence);
  EXPECT_EQ(waits.of(Cause::kFence, 0, 1000), 16);
  EXPECT_EQ(waits.of(Cause::kFence, 0, 5), 0);
}

TEST(HeldLocks, AtomicUnderASimulatedLockLeavesRecordedOrder) {
  CoreStatistics statistics;
  HeldLocks recorded(LockOrder::kRecorded, statistics),
      simulated(LockOrder::kSimulated, statistics);
  for (HeldLocks* const locks : {&recorded, &simulated}) {
    locks->count(trace::SyncKind::kMutexUnlock);  // acquired before the recording began
    EXPECT_TRUE(locks->in_recorded_order(trace::LockRole::kNone));
    locks->count(trace::SyncKind::kMutexLock);
  }
  EXPECT_TRUE(recorded.in_recorded_order(trace::LockRole::kNone));
  EXPECT_FALSE(simulated.in_recorded_order(trace::LockRole::kNone));
  simulated.count(trace::SyncKind::kMutexUnlock);
  EXPECT_TRUE(simulated.in_recorded_order(trace::LockRole::kNone));
  EXPECT_FALSE(simulated.in_recorded_order(trace::LockRole::kTakes));
  EXPECT_EQ(statistics.locks, 2u);
}

}  // namespace
}  // namespace pmemsim
