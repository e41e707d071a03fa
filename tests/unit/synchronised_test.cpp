// Notifications of an ordering layer about synchronisation: every acquire when it has been
// obtained, every release before other threads can observe it, each with its kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/trace/names.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;
using Kinds = std::vector<SyncKind>;

struct Notice {
  CoreId core;
  SyncKind kind;
  Time when;
};

template <std::uint32_t kInterests>
class Listener final : public Ordering {
 public:
  Lowering lowering() const override { return {}; }
  std::uint32_t interests() const override { return kInterests; }
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  bool fence(const Fence&, Time, Completion) override { return true; }
  void synchronised(CoreId core, SyncKind kind, Time when) override {
    notices.push_back({core, kind, when});
  }
  std::vector<Notice> notices;
};

template <std::uint32_t kInterests>
std::vector<Notice> listen(TraceBuilder& builder, std::string_view lock_order) {
  ChoiceTable table = choices();
  table.push_back({.name = "listener",
                   .summary = "Records its notifications",
                   .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
                     return std::make_unique<Listener<kInterests>>();
                   }});
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(settings({{"ordering", "listener"},
                                      {"atomicity", "none"},
                                      {"run.lock_order", lock_order}}),
                            table),
                  file);
  EXPECT_TRUE(machine.run({}));
  return dynamic_cast<const Listener<kInterests>&>(machine.design().ordering()).notices;
}

std::vector<Notice> notices(TraceBuilder& builder, std::string_view lock_order = "recorded") {
  return listen<kSynchronisation>(builder, lock_order);
}

Kinds kinds_of(const std::vector<Notice>& notices, CoreId core) {
  Kinds kinds;
  for (const Notice& one : notices) {
    if (one.core == core) kinds.push_back(one.kind);
  }
  return kinds;
}

// Position of the core's notification of this kind, number `turn` from 0 on.
std::ptrdiff_t place(const std::vector<Notice>& notices, CoreId core, SyncKind kind, int turn = 0) {
  const auto found = std::ranges::find_if(notices, [&](const Notice& one) {
    return one.core == core && one.kind == kind && turn-- == 0;
  });
  return found - notices.begin();
}

// Writes what a thread does with objects of one program.
struct Thread {
  TraceBuilder& builder;
  std::uint32_t number;
  bool annotates = false;  // its mutexes

  void operator()(SyncKind kind, std::uint32_t object, std::uint32_t version) const {
    const bool mutex = kind == SyncKind::kMutexLock || kind == SyncKind::kMutexUnlock;
    builder.thread(number).sync(kind, kDramBase + std::uint64_t{object} * 64, object, version,
                                annotates && mutex);
  }
};

constexpr std::uint32_t kThread = 0, kMutex = 1, kBarrier = 2, kCondition = 3;

// Thread 0 creates thread 1, both take a lock and meet at a barrier; then thread 1 waits until
// thread 0 signals, and thread 0 joins it.
TraceBuilder two_threads(bool annotates = false) {
  TraceBuilder builder;
  const Thread first{builder, 0, annotates}, second{builder, 1, annotates};
  first(SyncKind::kThreadCreate, kThread, 1);
  first(SyncKind::kMutexLock, kMutex, 0);
  first(SyncKind::kMutexUnlock, kMutex, 1);
  first(SyncKind::kBarrierArrive, kBarrier, 1);
  first(SyncKind::kBarrierWait, kBarrier, 2);
  first(SyncKind::kMutexLock, kMutex, 3);
  first(SyncKind::kConditionSignal, kCondition, 1);
  first(SyncKind::kMutexUnlock, kMutex, 4);
  first(SyncKind::kThreadJoin, kThread, 2);

  second(SyncKind::kThreadStart, kThread, 1);
  second(SyncKind::kMutexLock, kMutex, 1);
  second(SyncKind::kMutexUnlock, kMutex, 2);
  second(SyncKind::kBarrierArrive, kBarrier, 2);
  second(SyncKind::kBarrierWait, kBarrier, 2);
  second(SyncKind::kMutexLock, kMutex, 2);
  second(SyncKind::kMutexUnlock, kMutex, 3);
  second(SyncKind::kConditionWait, kCondition, 1);
  second(SyncKind::kMutexLock, kMutex, 4);
  second(SyncKind::kMutexUnlock, kMutex, 5);
  second(SyncKind::kThreadEnd, kThread, 2);
  return builder;
}

TEST(Synchronised, LayerIsNotifiedOfEveryKindInThreadOrder) {
  TraceBuilder builder = two_threads();
  const std::vector<Notice> all = notices(builder);
  EXPECT_EQ(kinds_of(all, 0),
            (Kinds{SyncKind::kThreadCreate, SyncKind::kMutexLock, SyncKind::kMutexUnlock,
                   SyncKind::kBarrierArrive, SyncKind::kBarrierWait, SyncKind::kMutexLock,
                   SyncKind::kConditionSignal, SyncKind::kMutexUnlock, SyncKind::kThreadJoin}));
  EXPECT_EQ(kinds_of(all, 1),
            (Kinds{SyncKind::kThreadStart, SyncKind::kMutexLock, SyncKind::kMutexUnlock,
                   SyncKind::kBarrierArrive, SyncKind::kBarrierWait, SyncKind::kMutexLock,
                   SyncKind::kMutexUnlock, SyncKind::kConditionWait, SyncKind::kMutexLock,
                   SyncKind::kMutexUnlock, SyncKind::kThreadEnd}));
}

TEST(Synchronised, AnnotatedLocksAreNotifiedLikeOtherLocks) {
  for (const std::string_view lock_order : {"recorded", "simulated"}) {
    SCOPED_TRACE(lock_order);
    TraceBuilder annotated = two_threads(true), others = two_threads();
    for (const CoreId core : {0, 1}) {
      EXPECT_EQ(kinds_of(notices(annotated, lock_order), core),
                kinds_of(notices(others, lock_order), core));
    }
  }
}

TEST(Synchronised, ReleaseIsNotifiedBeforeTheAcquisitionThatWaitsForIt) {
  TraceBuilder builder = two_threads();
  const std::vector<Notice> all = notices(builder);
  struct Pair {
    CoreId releaser;
    SyncKind release;
    int turn;
    SyncKind acquire;
    int acquirers_turn;
  };
  for (const auto& [releaser, release, turn, acquire, acquirers_turn] :
       {Pair{0, SyncKind::kThreadCreate, 0, SyncKind::kThreadStart, 0},
        {0, SyncKind::kMutexUnlock, 0, SyncKind::kMutexLock, 0},
        {0, SyncKind::kBarrierArrive, 0, SyncKind::kBarrierWait, 0},
        {1, SyncKind::kBarrierArrive, 0, SyncKind::kBarrierWait, 0},
        {1, SyncKind::kMutexUnlock, 1, SyncKind::kMutexLock, 1},
        {0, SyncKind::kConditionSignal, 0, SyncKind::kConditionWait, 0},
        {0, SyncKind::kMutexUnlock, 1, SyncKind::kMutexLock, 2},
        {1, SyncKind::kThreadEnd, 0, SyncKind::kThreadJoin, 0}}) {
    SCOPED_TRACE(name_of(acquire));
    const auto before = static_cast<std::size_t>(place(all, releaser, release, turn));
    const auto after = static_cast<std::size_t>(place(all, 1 - releaser, acquire, acquirers_turn));
    ASSERT_LT(before, after);
    ASSERT_LT(after, all.size());
    EXPECT_LE(all[before].when, all[after].when);
  }
}

// A write lock has two records. It is acquired when the readers have released it.
TEST(Synchronised, WriteLockIsNotifiedOnceWhenItIsAcquired) {
  constexpr std::uint32_t kLock = 0, kReaders = 1;
  for (const std::string_view lock_order : {"recorded", "simulated"}) {
    SCOPED_TRACE(lock_order);
    TraceBuilder builder;
    const Thread reader{builder, 0}, writer{builder, 1};
    reader(SyncKind::kReadLock, kLock, 0);
    builder.external(10'000);
    builder.sync(SyncKind::kReadUnlock, kDramBase, kReaders, 1);
    builder.thread(1).external(1'000);  // so that the reader is first in either order
    writer(SyncKind::kWriteLock, kLock, 0);
    builder.sync(SyncKind::kWriteLock, 0, kReaders, 1);
    writer(SyncKind::kWriteUnlock, kLock, 1);
    const std::vector<Notice> all = notices(builder, lock_order);
    Kinds kinds;
    for (const Notice& one : all) kinds.push_back(one.kind);
    EXPECT_EQ(kinds, (Kinds{SyncKind::kReadLock, SyncKind::kReadUnlock, SyncKind::kWriteLock,
                            SyncKind::kWriteUnlock}));
  }
}

TEST(Synchronised, SynchronisationWithoutAnAddressIsNotified) {
  TraceBuilder builder;
  builder.sync(SyncKind::kSignal, 0, 0, 1);
  builder.thread(1).sync(SyncKind::kWait, 0, 0, 1);
  const std::vector<Notice> all = notices(builder);
  EXPECT_EQ(kinds_of(all, 0), Kinds{SyncKind::kSignal});
  EXPECT_EQ(kinds_of(all, 1), Kinds{SyncKind::kWait});
}

TEST(Synchronised, AtomicAccessesAreNotNotified) {
  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kAtomicLoad, 8);
  const auto store = builder.site(SiteKind::kAtomicStore, 8);
  const auto update = builder.site(SiteKind::kAtomicUpdate, 8);
  builder.atomic(store, kDramBase, 0, 1, 1);
  builder.atomic(update, kDramBase, 0, 2, 2, true);
  builder.atomic(load, kDramBase, 0, 2);
  EXPECT_TRUE(notices(builder).empty());
}

TEST(Synchronised, LayersWithoutInterestAreNotNotified) {
  TraceBuilder builder = two_threads();
  EXPECT_TRUE(listen<kEvictions>(builder, "recorded").empty());
}

TEST(Synchronised, OnlyLockAndUnlockKindsBoundCriticalSections) {
  Kinds locks, unlocks;
  for (std::uint8_t number = 0; number < trace::kSyncKinds; ++number) {
    const auto kind = static_cast<SyncKind>(number);
    if (trace::is_lock(kind)) locks.push_back(kind);
    if (trace::is_unlock(kind)) unlocks.push_back(kind);
  }
  EXPECT_EQ(locks, (Kinds{SyncKind::kMutexLock, SyncKind::kReadLock, SyncKind::kWriteLock}));
  EXPECT_EQ(unlocks,
            (Kinds{SyncKind::kMutexUnlock, SyncKind::kReadUnlock, SyncKind::kWriteUnlock}));
}

}  // namespace
}  // namespace pmemsim
