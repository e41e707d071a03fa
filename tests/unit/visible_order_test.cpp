// The order in which the operations of all threads become visible.
#include "pmemsim/checks/images/visible_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::SiteKind;
using trace::SyncKind;

struct OrderTrace : trace::TraceBuilder {
  OrderTrace() { pm_region(kPmBase, kPmBase + 4096); }

  void stores(std::uint32_t thread, int count) {
    for (int i = 0; i < count; ++i) this->thread(thread).store(store_site, kPmBase, 1);
  }
  // Thread and number of each operation.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> order(const Variation& variation = {}) {
    const TemporaryTrace file(*this);
    const trace::TraceFile trace(file.path());
    VisibleOrder order(trace, variation);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
    while (order.next()) found.emplace_back(order.thread(), order.number());
    return found;
  }

  const std::uint32_t store_site = site(SiteKind::kStore, 8);
  const std::uint32_t branch_site = site(SiteKind::kBranch);
  const std::uint32_t load_site = site(SiteKind::kCopyLoad);
  const std::uint32_t copy_site = site(SiteKind::kCopyStore);
  const std::uint32_t flush = site(SiteKind::kFlush);
  const std::uint32_t fence = site(SiteKind::kFence);
  const std::uint32_t atomic_store = site(SiteKind::kAtomicStore, 8);
  const std::uint32_t atomic_load = site(SiteKind::kAtomicLoad, 8);
};

using Order = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

TEST(VisibleOrder, OperationsThatLeaveMemoryUnchangedAreSkipped) {
  OrderTrace trace;
  trace.stores(0, 1);
  trace.branch(trace.branch_site, true);
  trace.stores(0, 1);
  EXPECT_EQ(trace.order(), (Order{{0, 0}, {0, 2}}));
}

TEST(VisibleOrder, WaitingThreadContinuesAtOnce) {
  OrderTrace trace;
  trace.thread(1).atomic(trace.atomic_load, kDramBase, 0, 2);
  trace.stores(1, 1);
  for (const std::uint32_t version : {1, 2, 3}) {
    trace.stores(0, 1);
    trace.thread(0).atomic(trace.atomic_store, kDramBase, 0, version);
  }
  EXPECT_EQ(trace.order(), (Order{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {0, 4}, {0, 5}}));
}

TEST(VisibleOrder, AtomicWritesFollowTheirVersions) {
  OrderTrace trace;
  trace.thread(0).atomic(trace.atomic_store, kDramBase, 0, 2);
  trace.thread(1).atomic(trace.atomic_store, kDramBase, 0, 1);
  EXPECT_EQ(trace.order(), (Order{{1, 0}, {0, 0}}));
}

TEST(VisibleOrder, ThreadsAlternateAtSynchronisation) {
  OrderTrace trace;
  trace.stores(0, 2);
  trace.thread(0).atomic(trace.atomic_store, kDramBase, 0, 1);
  trace.stores(1, 3);
  EXPECT_EQ(trace.order(), (Order{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {0, 2}}));
}

TEST(VisibleOrder, DelayedThreadFlushesAndFencesWhenOthersCannotContinue) {
  OrderTrace trace;
  trace.stores(0, 1);
  trace.access(trace.flush, kPmBase);
  trace.plain(trace.fence);
  trace.stores(0, 1);
  trace.thread(1).access(trace.flush, kPmBase);
  trace.plain(trace.fence);
  trace.stores(1, 1);
  EXPECT_EQ(trace.order({.delayed = 0}),
            (Order{{0, 0}, {1, 0}, {1, 1}, {1, 2}, {0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(trace.order({.delayed = 1}),
            (Order{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(VisibleOrder, DelayedThreadFencesWithoutAFlushWhenOthersCannotContinue) {
  OrderTrace trace;
  trace.stores(0, 1);
  trace.plain(trace.fence);
  trace.stores(0, 1);
  trace.stores(1, 2);
  EXPECT_EQ(trace.order({.delayed = 0}), (Order{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}));
}

TEST(VisibleOrder, DelayedThreadContinuesIfOthersWaitForIt) {
  OrderTrace trace;
  trace.stores(0, 1);
  trace.access(trace.flush, kPmBase);
  trace.atomic(trace.atomic_store, kDramBase, 0, 1);
  trace.plain(trace.fence);
  trace.thread(1).atomic(trace.atomic_load, kDramBase, 0, 1);
  trace.stores(1, 1);
  EXPECT_EQ(trace.order({.delayed = 0}), (Order{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {0, 3}}));
}

TEST(VisibleOrder, LocksAreTakenInTheRecordedOrder) {
  OrderTrace trace;
  trace.thread(0).sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  trace.thread(1).sync(SyncKind::kMutexLock, kDramBase, 0, 0);
  trace.stores(1, 1);
  trace.thread(1).sync(SyncKind::kMutexUnlock, kDramBase, 0, 1);
  EXPECT_EQ(trace.order(), (Order{{1, 0}, {1, 1}, {1, 2}, {0, 0}}));
}

// Thread 1 arrived last in the recording, and arrives first here.
TEST(VisibleOrder, BarrierOpensWhenAllThreadsHaveArrived) {
  OrderTrace trace;
  trace.stores(0, static_cast<int>(VisibleOrder::kTurn) + 1);
  trace.thread(0).sync(SyncKind::kBarrierArrive, kDramBase, 0, 1);
  trace.thread(1).sync(SyncKind::kBarrierArrive, kDramBase, 0, 2);
  trace.sync(SyncKind::kBarrierWait, kDramBase, 0, 2);
  trace.stores(1, 1);
  const Order order = trace.order();
  ASSERT_EQ(order.size(), VisibleOrder::kTurn + 5);
  EXPECT_EQ(order[VisibleOrder::kTurn], (Order::value_type{1, 0}));
  EXPECT_EQ(order[VisibleOrder::kTurn + 2], (Order::value_type{0, VisibleOrder::kTurn + 1}));
  EXPECT_EQ(order.back(), (Order::value_type{1, 2}));
}

// Thread 0's wait for a race does not synchronise. Thread 1 has not flushed its stores yet.
TEST(VisibleOrder, ThreadThatWaitedForARaceContinuesAtOnce) {
  OrderTrace trace;
  trace.thread(1).store(trace.store_site, kDramBase, 1);
  trace.thread(1).store(trace.store_site, kPmBase + 64, 1);
  trace.thread(1).store(trace.store_site, kPmBase + 128, 1);
  trace.end_turn(2);
  trace.thread(0).store(trace.store_site, kDramBase, 2);
  trace.thread(0).store(trace.store_site, kPmBase + 192, 2);
  trace.end_turn(3);
  EXPECT_EQ(trace.order(), (Order{{1, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 2}}));
}

// Thread 0 flushes after the lock the data that thread 1 has found there by then.
TEST(VisibleOrder, ThreadThatWaitedForALockContinuesPastItsUnlock) {
  OrderTrace trace;
  trace.thread(0).sync(SyncKind::kMutexLock, kDramBase, 0, 0);
  trace.stores(0, 1);
  trace.thread(0).sync(SyncKind::kMutexUnlock, kDramBase, 0, 1);
  trace.stores(0, 1);
  trace.thread(1).sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  trace.thread(1).sync(SyncKind::kMutexUnlock, kDramBase, 0, 2);
  trace.stores(1, 1);
  trace.thread(1).sync(SyncKind::kMutexLock, kDramBase, 0, 2);
  EXPECT_EQ(trace.order(), (Order{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}));
}

TEST(VisibleOrder, TurnOfAThreadHasALimit) {
  OrderTrace trace;
  constexpr int kMany = static_cast<int>(VisibleOrder::kTurn) + 100;
  trace.stores(0, kMany);
  trace.stores(1, kMany);
  const Order order = trace.order();
  std::vector<std::size_t> changes;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i].first != order[i - 1].first) changes.push_back(i);
  }
  ASSERT_EQ(changes.size(), 3);
  EXPECT_EQ(changes[0], VisibleOrder::kTurn);
  EXPECT_EQ(order.size(), 2 * kMany);
}

TEST(VisibleOrder, CopyIsNotInterruptedByTheTurnLimit) {
  OrderTrace trace;
  trace.stores(0, static_cast<int>(VisibleOrder::kTurn) - 1);
  for (int segment = 0; segment < 4; ++segment) {
    trace.thread(0).copy(trace.load_site, kDramBase, 16);
    trace.thread(0).copy(trace.copy_site, kPmBase, 16, 1);
  }
  trace.stores(0, 1);
  trace.stores(1, 1);
  const Order order = trace.order();
  const auto other = std::ranges::find(order, std::uint32_t{1}, &Order::value_type::first);
  EXPECT_EQ(other - order.begin(), VisibleOrder::kTurn - 1 + 8);
}

// By turns alone, thread 0 would be first. It continues as soon as it may, and waits again, because
// both threads store to the same location in persistent memory.
TEST(VisibleOrder, RacesKeepTheRecordedOrder) {
  OrderTrace trace;
  trace.thread(1).store(trace.store_site, kDramBase, 1);
  trace.stores(1, 1);
  trace.end_turn(2);
  trace.thread(0).store(trace.store_site, kDramBase, 2);
  trace.stores(0, 1);
  trace.end_turn(3);
  EXPECT_EQ(trace.order(), (Order{{1, 0}, {0, 0}, {1, 1}, {0, 1}}));
}

// The order does not contain the racing load itself, but the operations after it.
TEST(VisibleOrder, RacingLoadDelaysTheOperationsAfterIt) {
  OrderTrace trace;
  const std::uint32_t load = trace.site(SiteKind::kLoad, 8);
  trace.thread(1).store(trace.store_site, kDramBase, 1);
  trace.end_turn(0);
  trace.thread(0).store(trace.store_site, kPmBase, 1);
  trace.access(load, kDramBase);
  trace.store(trace.store_site, kPmBase + 8, 1);
  trace.end_turn(1);
  EXPECT_EQ(trace.order(), (Order{{0, 0}, {1, 0}, {0, 2}}));
}

TEST(VisibleOrder, RaceInterruptsACopy) {
  OrderTrace trace;
  trace.thread(1).store(trace.store_site, kDramBase + 16, 1);
  trace.end_turn(0);
  for (const std::uint64_t offset : {0, 16}) {
    trace.thread(0).copy(trace.load_site, kDramBase + offset, 16);
    trace.copy(trace.copy_site, kPmBase + offset, 16, 1);
  }
  trace.end_turn(1);
  EXPECT_EQ(trace.order(), (Order{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {0, 3}}));
}

TEST(VisibleOrder, RecordingWithADeadlockIsRejected) {
  OrderTrace trace;
  trace.thread(0).sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  trace.thread(1).sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  EXPECT_THROW(trace.order(), trace::TraceError);
}

}  // namespace
}  // namespace pmemsim
