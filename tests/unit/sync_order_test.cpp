// Locks, versions and the order in which waiting callers continue, in both lock orders.
#include <gtest/gtest.h>

#include "pmemsim/machine/cpu/synchronisation.hpp"

namespace pmemsim {
namespace {

using trace::SyncKind;
using Grants = std::vector<std::uint64_t>;

class SyncTest : public testing::TestWithParam<LockOrder> {
 protected:
  // Returns true if the caller continues at once; otherwise `grants` gets its number later.
  bool acquire(SyncKind kind, std::uint32_t object, std::uint32_t version, std::uint64_t caller) {
    return sync.acquire(kind, object, version, completion<&SyncTest::granted>(*this, caller));
  }
  void release(SyncKind kind, std::uint32_t object, std::uint32_t version) {
    sync.release(kind, object, version, {7});
  }
  void granted(std::uint64_t caller, Time when) {
    EXPECT_EQ(when, Time{7});
    grants.push_back(caller);
  }

  Synchronisation sync{6, GetParam()};
  Grants grants;
};

class RecordedOrder : public SyncTest {};
class SimulatedOrder : public SyncTest {};
class RecordedAndSimulatedOrder : public SyncTest {};
INSTANTIATE_TEST_SUITE_P(Sync, RecordedOrder, testing::Values(LockOrder::kRecorded));
INSTANTIATE_TEST_SUITE_P(Sync, SimulatedOrder, testing::Values(LockOrder::kSimulated));
INSTANTIATE_TEST_SUITE_P(Sync, RecordedAndSimulatedOrder,
                         testing::Values(LockOrder::kRecorded, LockOrder::kSimulated));

TEST_P(RecordedOrder, MutexIsGrantedInTheRecordedOrder) {
  // Recorded: caller 1 (version 0), caller 2 (version 1), caller 3 (version 2).
  EXPECT_FALSE(acquire(SyncKind::kMutexLock, 0, 2, 3));
  EXPECT_FALSE(acquire(SyncKind::kMutexLock, 0, 1, 2));
  EXPECT_TRUE(acquire(SyncKind::kMutexLock, 0, 0, 1));
  EXPECT_EQ(sync.waiting(), 2u);
  release(SyncKind::kMutexUnlock, 0, 1);
  EXPECT_EQ(grants, Grants({2}));
  release(SyncKind::kMutexUnlock, 0, 2);
  EXPECT_EQ(grants, Grants({2, 3}));
  EXPECT_EQ(sync.waiting(), 0u);
  EXPECT_EQ(sync.version(0), 2u);
}

TEST_P(RecordedOrder, ReadersEnterTogetherAfterTheirWriter) {
  // Object 0 counts write unlocks, object 1 read unlocks.
  EXPECT_FALSE(acquire(SyncKind::kReadLock, 0, 1, 2));
  EXPECT_FALSE(acquire(SyncKind::kReadLock, 0, 1, 3));
  EXPECT_TRUE(acquire(SyncKind::kWriteLock, 0, 0, 1));
  EXPECT_TRUE(acquire(SyncKind::kWriteLock, 1, 0, 1));
  release(SyncKind::kWriteUnlock, 0, 1);
  EXPECT_EQ(grants, Grants({2, 3}));
  // The next writer waits for both readers.
  EXPECT_TRUE(acquire(SyncKind::kWriteLock, 0, 1, 4));
  EXPECT_FALSE(acquire(SyncKind::kWriteLock, 1, 2, 4));
  release(SyncKind::kReadUnlock, 1, 1);
  EXPECT_EQ(grants.size(), 2u);
  release(SyncKind::kReadUnlock, 1, 2);
  EXPECT_EQ(grants, Grants({2, 3, 4}));
}

TEST_P(SimulatedOrder, MutexIsGrantedInTheOrderOfRequests) {
  EXPECT_TRUE(acquire(SyncKind::kMutexLock, 0, 2, 3));
  EXPECT_FALSE(acquire(SyncKind::kMutexLock, 0, 1, 2));
  EXPECT_FALSE(acquire(SyncKind::kMutexLock, 0, 0, 1));
  release(SyncKind::kMutexUnlock, 0, 3);
  EXPECT_EQ(grants, Grants({2}));
  release(SyncKind::kMutexUnlock, 0, 2);
  EXPECT_EQ(grants, Grants({2, 1}));
  release(SyncKind::kMutexUnlock, 0, 1);
  EXPECT_TRUE(acquire(SyncKind::kMutexLock, 0, 9, 4));
}

TEST_P(SimulatedOrder, ReadersShareALockAndWritersDoNot) {
  EXPECT_TRUE(acquire(SyncKind::kReadLock, 0, 5, 1));
  EXPECT_TRUE(acquire(SyncKind::kReadLock, 0, 5, 2));
  EXPECT_FALSE(acquire(SyncKind::kWriteLock, 0, 0, 3));
  EXPECT_FALSE(
      acquire(SyncKind::kReadLock, 0, 0, 4));  // queued after the writer, which must not starve
  release(SyncKind::kReadUnlock, 1, 1);
  EXPECT_TRUE(grants.empty());
  release(SyncKind::kReadUnlock, 1, 2);
  EXPECT_EQ(grants, Grants({3}));
  release(SyncKind::kWriteUnlock, 0, 1);
  EXPECT_EQ(grants, Grants({3, 4}));
}

// Thread 1 waits for both signals, and holds the lock that the thread that gives the first signal
// needs.
TEST_P(SimulatedOrder, SignalImpliesTheSignalsBeforeIt) {
  std::uint32_t object = 0;
  for (const auto& [wait, signal] :
       {std::pair{SyncKind::kConditionWait, SyncKind::kConditionSignal},
        {SyncKind::kSemaphoreWait, SyncKind::kSemaphorePost}}) {
    grants.clear();
    EXPECT_FALSE(acquire(wait, object, 2, 1));
    release(signal, object, 2);
    EXPECT_EQ(grants, Grants({1}));
    release(signal, object, 1);
    EXPECT_EQ(sync.version(object), 2u);
    ++object;
  }
}

TEST_P(RecordedAndSimulatedOrder, OtherSynchronisationWaitsForItsVersion) {
  std::vector<std::pair<SyncKind, SyncKind>> kinds{
      {SyncKind::kWait, SyncKind::kSignal},
      {SyncKind::kBarrierWait, SyncKind::kBarrierArrive},
      {SyncKind::kThreadStart, SyncKind::kThreadCreate},
      {SyncKind::kThreadJoin, SyncKind::kThreadEnd}};
  if (GetParam() == LockOrder::kRecorded) {
    kinds.emplace_back(SyncKind::kConditionWait, SyncKind::kConditionSignal);
    kinds.emplace_back(SyncKind::kSemaphoreWait, SyncKind::kSemaphorePost);
  }
  std::uint32_t object = 0;
  for (const auto& [wait, signal] : kinds) {
    grants.clear();
    EXPECT_FALSE(acquire(wait, object, 2, 1));
    EXPECT_FALSE(acquire(wait, object, 1, 2));
    release(signal, object, 1);
    EXPECT_EQ(grants, Grants({2}));
    release(signal, object, 3);  // a later signal doesn't count as the earlier ones
    EXPECT_EQ(grants, Grants({2}));
    release(signal, object, 2);
    EXPECT_EQ(grants, Grants({2, 1}));
    EXPECT_TRUE(acquire(wait, object, 3, 3));
    ++object;
  }
}

TEST_P(RecordedAndSimulatedOrder, VersionsNeverDecrease) {
  for (const std::uint32_t version : {1, 2, 1}) sync.release_version(3, version, {7});
  EXPECT_EQ(sync.version(3), 2u);
  EXPECT_TRUE(sync.acquire_version(3, 2, {}));
}

// The thread that is last at the barrier in the recording may be first in the simulation.
TEST_P(RecordedAndSimulatedOrder, BarrierOpensWhenAllThreadsHaveArrived) {
  release(SyncKind::kBarrierArrive, 0, 3);
  EXPECT_FALSE(acquire(SyncKind::kBarrierWait, 0, 3, 3));
  release(SyncKind::kBarrierArrive, 0, 1);
  EXPECT_FALSE(acquire(SyncKind::kBarrierWait, 0, 3, 1));
  EXPECT_EQ(sync.version(0), 1u);
  release(SyncKind::kBarrierArrive, 0, 2);
  EXPECT_EQ(grants, Grants({3, 1}));
  EXPECT_TRUE(acquire(SyncKind::kBarrierWait, 0, 3, 2));
}

TEST_P(RecordedAndSimulatedOrder, LongestWaitingCallerIsResumedFirst) {
  for (std::uint64_t caller = 1; caller <= 3; ++caller) {
    EXPECT_FALSE(acquire(SyncKind::kWait, 0, 1, caller));
  }
  sync.release_version(0, 1, {7});
  EXPECT_EQ(grants, Grants({1, 2, 3}));
}

}  // namespace
}  // namespace pmemsim
