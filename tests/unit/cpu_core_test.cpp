// The core's parts, and what it counts: clock, store queue, lowering, regions, a core that is
// stuck.
#include <gtest/gtest.h>

#include <functional>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::FenceKind;
using trace::FenceMeaning;
using trace::MarkKind;
using trace::Purpose;
using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

TEST(Clock, DoesNotDrift) {
  const Clock clock({3'000'000'000}, 4);
  EXPECT_EQ(clock.time(clock.cycles(3)), Time{1000});
  EXPECT_EQ(clock.time(clock.cycles(1)), Time{333});
  EXPECT_EQ(clock.time(clock.cycles(1'000'000'000)), Time{333'333'333'333});
  EXPECT_EQ(clock.time(clock.cycles(999'999'999)), Time{333'333'333'000});
}

TEST(Clock, SlotsAndTimesConvertBothWays) {
  // Up to 29 days: products of times and slots then need more than 64 bits.
  for (const std::uint64_t frequency :
       {1'000'000'000ull, 3'000'000'000ull, 2'133'300'000ull, 2'707'000'000ull}) {
    const Clock clock({frequency}, 4);
    for (Slot slot = 0; slot < 10'000'000'000'000'000; slot = slot * 3 + 1) {
      const Time begin = clock.time(slot);
      // The time is cut to a picosecond: the slot begins there or in the picosecond after.
      EXPECT_GE(clock.slot(begin + Picoseconds{1}), slot);
      EXPECT_LE(clock.slot(begin), slot);
      EXPECT_GE(clock.slot(begin) + 1, slot);
      EXPECT_GE(clock.time(clock.slot({slot})), Time{slot - 1});
    }
  }
}

TEST(Clock, DelaysInCyclesAndInTimeConvertToSlots) {
  const Clock clock({2'000'000'000}, 4);
  EXPECT_EQ(clock.slots(cycles(3)), 12);
  EXPECT_EQ(clock.slots(nanoseconds(3)), 24);
  EXPECT_EQ(clock.slots(picoseconds(1)), 1);  // never shorter than asked
  EXPECT_EQ(clock.duration(cycles(3)), Picoseconds{1500});
  EXPECT_EQ(clock.duration(nanoseconds(3)), Picoseconds{3000});
}

class StoreQueueTest : public testing::Test {
 protected:
  std::uint64_t push(std::uint64_t address, std::uint32_t size = 8) {
    const std::uint64_t number = queue.tail();
    StoreEntry& store = queue.push();
    store.number = number;
    store.drained = 0;
    queue.remember(address, size, number);
    return number;
  }
  StoreQueue queue{4};
};

TEST_F(StoreQueueTest, HoldsItsConfiguredNumberOfStores) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(queue.has_free_entries(1));
    EXPECT_EQ(queue.free_since(1), 0);
    push(i);
  }
  EXPECT_FALSE(queue.has_free_entries(1));
  queue.pop(70);
  EXPECT_TRUE(queue.has_free_entries(1));
  EXPECT_FALSE(queue.has_free_entries(2));
  EXPECT_EQ(queue.free_since(1), 70);
  queue.pop(90);
  EXPECT_EQ(queue.free_since(2), 90);
}

TEST_F(StoreQueueTest, ForwardsTheYoungestStore) {
  push(40);
  const std::uint64_t second = push(40);
  EXPECT_EQ(queue.youngest(40, 8, 0), &queue.at(second));
  EXPECT_EQ(queue.youngest(48, 8, 0), nullptr);
}

TEST_F(StoreQueueTest, ForwardsTheYoungestStoreToAnyOfTheBytes) {
  const std::uint64_t wide = push(32, 16);
  const std::uint64_t narrow = push(44, 4);
  EXPECT_EQ(queue.youngest(36, 4, 0), &queue.at(wide));
  EXPECT_EQ(queue.youngest(36, 8, 0), &queue.at(narrow));
  EXPECT_EQ(queue.youngest(47, 8, 0), &queue.at(narrow));
  EXPECT_EQ(queue.youngest(48, 16, 0), nullptr);
}

TEST_F(StoreQueueTest, ForwardsAStoreThatHadNotLeftAtThatTime) {
  const std::uint64_t number = push(40);
  queue.pop(100);
  EXPECT_EQ(queue.youngest(40, 8, 99), &queue.at(number));
  EXPECT_EQ(queue.youngest(40, 8, 100), nullptr);
  // The popped store is found until another store takes its entry.
  for (std::uint64_t i = 0; i < 16; ++i) {
    push(800 + 8 * i);
    queue.pop(200);
  }
  EXPECT_EQ(queue.youngest(40, 8, 0), nullptr);
  EXPECT_NE(queue.youngest(920, 8, 0), nullptr);
}

TEST_F(StoreQueueTest, StoreThatLeavesAtOnceTakesAnEntryUntilThen) {
  queue.pass(40, 8, 60, 100);
  EXPECT_TRUE(queue.empty());
  const StoreEntry* const store = queue.youngest(40, 8, 99);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->data_ready, 60);
  EXPECT_EQ(store->number, 0u);
  EXPECT_EQ(queue.youngest(40, 8, 100), nullptr);
  EXPECT_EQ(queue.free_since(3), 0);
  EXPECT_EQ(queue.free_since(4), 100);
  EXPECT_EQ(push(48), 1u);
}

std::vector<Setting> design(std::string_view ordering, std::string_view atomicity,
                            const std::vector<KeyValue>& more = {}) {
  return settings({{"ordering", ordering}, {"atomicity", atomicity}}, more);
}

// A region of one store with its log, as the library writes it. Each part has a different length,
// so that a count shows which parts were kept.
struct Region {
  TraceBuilder builder;
  std::uint32_t load = builder.site(SiteKind::kLoad, 8, 3);
  std::uint32_t store = builder.site(SiteKind::kStore, 8, 5);
  std::uint32_t log_store = builder.site(SiteKind::kStore, 8, 100);
  std::uint32_t log_work = builder.site(SiteKind::kExecute, 0, 200);
  std::uint32_t commit_store = builder.site(SiteKind::kStore, 8, 1000);
  std::uint32_t flush_work = builder.site(SiteKind::kExecute, 0, 10000);
  std::uint32_t flush = builder.site(SiteKind::kFlush, 0, 20);  // 19 of them lead up to it
  std::uint32_t sfence = builder.site(SiteKind::kFence, 0, 40);
  std::uint32_t mfence =
      builder.site(SiteKind::kFence, 0, 7, {}, {}, static_cast<std::uint8_t>(FenceKind::kMfence));

  Region() {
    builder.pm_region(kPmBase, kPmBase + (1u << 20));
    builder.mark(MarkKind::kRegionBegin, 1);
    builder.access(load, kPmBase);
    purpose(Purpose::kLog);
    builder.plain(log_work);
    builder.store(log_store, kPmBase + 4096, 1);
    persist(kPmBase + 4096);
    purpose(Purpose::kProgram);
    builder.mark(MarkKind::kRegionBegin, 2);  // nested: flattened
    builder.store(store, kPmBase, 2);
    builder.mark(MarkKind::kRegionEnd, 2);
    purpose(Purpose::kDataFlush);
    builder.plain(flush_work);
    persist(kPmBase);
    purpose(Purpose::kCommit);
    builder.store(commit_store, kPmBase + 4096, 0);
    persist(kPmBase + 4096);
    purpose(Purpose::kProgram);
    builder.mark(MarkKind::kRegionEnd, 1);
    persist(kPmBase);  // the program's own
    builder.plain(mfence);
  }
  void purpose(Purpose purpose) {
    builder.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
  }
  void persist(std::uint64_t address) {
    builder.access(flush, address);
    builder.mark(MarkKind::kNextFence, static_cast<std::uint64_t>(FenceMeaning::kDurable));
    builder.plain(sfence);
  }
};

TEST(Lowering, KeepsOnlyTheInstructionsThatTheDesignNeeds) {
  struct Case {
    std::string_view ordering, atomicity;
    double instructions, stores, flushes, fences;
  };
  constexpr double kProgram = 3 + 5 + 7, kLog = 300, kCommit = 1000, kDataFlush = 10000;
  constexpr double kPersist = 20 + 40, kPersistDropped = 19 + 39;
  for (const Case& expected : {
           // everything
           Case{"x86", "software-undo", kProgram + kLog + kCommit + kDataFlush + 4 * kPersist, 3, 4,
                5},
           // free: the instructions of software-undo, without waiting
           Case{"free", "software-undo", kProgram + kLog + kCommit + kDataFlush + 4 * kPersist, 3,
                4, 5},
           // sw-data-only: no log, no commit; the data's and the program's own flushes
           Case{"x86", "none", kProgram + kDataFlush + 2 * kPersist, 1, 2, 3},
           // np: the program alone, without the instructions that flush and fence
           Case{"none", "none", kProgram + kPersistDropped, 1, 0, 1},
           // eadr with a log: its code, without flushes and fences
           Case{"eadr", "software-undo", kProgram + kLog + kCommit + 3 * kPersistDropped, 3, 0, 1},
       }) {
    Region region;
    const RunResult result =
        run_trace(region.builder, design(expected.ordering, expected.atomicity));
    SCOPED_TRACE(std::string(expected.ordering) + " + " + std::string(expected.atomicity));
    EXPECT_EQ(statistic(result, "core.instructions"), expected.instructions);
    EXPECT_EQ(statistic(result, "core.stores"), expected.stores);
    EXPECT_EQ(statistic(result, "core.flushes"), expected.flushes);
    EXPECT_EQ(statistic(result, "core.fences"), expected.fences);
    EXPECT_EQ(statistic(result, "core.regions"), 1);
  }
}

TEST(FreeOrdering, FlushesWriteButFencesDoNotStall) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1u << 20));
  const std::uint32_t store = builder.site(SiteKind::kStore, 8);
  const std::uint32_t flush = builder.site(SiteKind::kFlush);
  const std::uint32_t fence = builder.site(SiteKind::kFence);
  for (std::uint64_t line = 0; line < 10; ++line) {
    builder.store(store, kPmBase + line * kLineBytes, line);
    builder.access(flush, kPmBase + line * kLineBytes);
    builder.plain(fence);
  }
  const RunResult waiting = run_trace(builder, design("x86", "none"));
  const RunResult free = run_trace(builder, design("free", "none"));
  EXPECT_EQ(statistic(free, "pm.writes"), statistic(waiting, "pm.writes"));
  EXPECT_GT(statistic(waiting, "stall.fence_ns"), 0);
  EXPECT_EQ(statistic(free, "stall.fence_ns"), 0);
}

// With hand-placed flushes, the code that finds the lines to flush is dropped, and only the flush
// and the fence remain.
TEST(Lowering, HandPlacedFlushesDropTheSurroundingCode) {
  Region region;
  const auto run = [&](std::string_view atomicity, std::string_view by_hand) {
    return run_trace(region.builder,
                     design("x86", atomicity, {{"run.hand_placed_flushes", by_hand}}));
  };
  for (const std::string_view atomicity : {"software-undo", "none"}) {
    const RunResult code = run(atomicity, "false"), hand = run(atomicity, "true");
    // The flush work has 10000 instructions; flush and fence have 20 and 40, those before included.
    EXPECT_EQ(statistic(code, "core.instructions") - statistic(hand, "core.instructions"),
              10000 + 19 + 39);
    for (const std::string_view kept : {"core.stores", "core.flushes", "core.fences"}) {
      EXPECT_EQ(statistic(hand, kept), statistic(code, kept)) << kept;
    }
    EXPECT_EQ(statistic(hand, "pm.writes"), statistic(code, "pm.writes"));
    EXPECT_GT(nanoseconds(code) - nanoseconds(hand), 0.9 * 10000 / 5 / 2)
        << "five a cycle of 2 GHz";
  }
}

TEST(Regions, OnlyOutermostRegionsAreCountedAndTimed) {
  TraceBuilder builder;
  const std::uint32_t work = builder.site(SiteKind::kExecute, 0, 4000);
  for (int i = 0; i < 3; ++i) {
    builder.mark(MarkKind::kRegionBegin, 1);
    builder.mark(MarkKind::kRegionBegin, 2);
    builder.plain(work);
    builder.mark(MarkKind::kRegionEnd, 2);
    builder.mark(MarkKind::kRegionEnd, 1);
    builder.plain(work);
  }
  const RunResult result =
      run_trace(builder, design("x86", "none", {{"core.frequency", "1GHz"}, {"core.width", "4"}}));
  EXPECT_EQ(result.regions, 3u);
  EXPECT_NEAR(statistic(result, "core.region_time_ns"), 3 * 1000, 10);
  EXPECT_NEAR(nanoseconds(result), 6 * 1000, 20);
}

// Only clwb leaves the line in the caches.
TEST(X86Ordering, LoadAfterAnInvalidatingFlushReadsPm) {
  using enum trace::FlushKind;
  for (const trace::FlushKind kind : {kClwb, kClflushopt, kClflush}) {
    TraceBuilder builder;
    builder.pm_region(kPmBase, kPmBase + 4096);
    const auto store = builder.site(SiteKind::kStore, 8);
    const auto load = builder.site(SiteKind::kLoad, 8);
    const auto flush =
        builder.site(SiteKind::kFlush, 0, 1, {}, {}, static_cast<std::uint8_t>(kind));
    const auto mfence =
        builder.site(SiteKind::kFence, 0, 1, {}, {}, static_cast<std::uint8_t>(FenceKind::kMfence));
    builder.store(store, kPmBase, 1);
    builder.access(flush, kPmBase);
    builder.plain(mfence);
    builder.access(load, kPmBase);
    const RunResult result = run_trace(builder, design("x86", "none"));
    EXPECT_EQ(statistic(result, "shared.pm_reads"), kind == kClwb ? 1 : 2);
  }
}

TEST(NonTemporal, BothPartsOfASplitStoreArePersistentAfterTheFence) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t store = builder.site(SiteKind::kNonTemporal, 16);
  const std::uint32_t fence = builder.site(SiteKind::kFence);
  builder.store(store, kPmBase + 56, 0x1122334455667788);
  builder.plain(fence);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(design("x86", "none")), file);
  machine.run({});
  EXPECT_EQ(machine.pm().statistics().all_writes(), 2u);
  for (const Line line : {Line::of(kPmBase), Line::of(kPmBase + 64)}) {
    EXPECT_EQ(machine.pm().device().read(line), machine.pm_space().newest().read(line));
  }
}

TEST(NonTemporal, StoresDoNotFetchTheirLine) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1u << 20));
  const std::uint32_t store = builder.site(SiteKind::kNonTemporal, 8);
  for (std::uint64_t i = 0; i < 100; ++i) builder.store(store, kPmBase + i * 64, i);
  const RunResult result = run_trace(builder, design("x86", "none"));
  EXPECT_EQ(statistic(result, "pm.reads"), 0);
  EXPECT_EQ(statistic(result, "pm.writes"), 100);
}

// Eight stores to each of two lines in turn, with something after every fourth that empties the
// buffers or doesn't; how many writes that makes.
double writes_with(const std::function<void(TraceBuilder&)>& between,
                   std::initializer_list<KeyValue> more = {}) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1u << 20));
  const std::uint32_t store = builder.site(SiteKind::kNonTemporal, 8);
  for (std::uint64_t word = 0; word < 8; ++word) {
    for (std::uint64_t line = 0; line < 2; ++line) {
      builder.store(store, kPmBase + line * 64 + word * 8, word + 1);
    }
    if (word == 3) between(builder);
  }
  std::vector<KeyValue> settings{{"pm.write_merging", "false"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return statistic(run_trace(builder, design("x86", "none", settings)), "pm.writes");
}

TEST(NonTemporal, StoresOfALineCombineUnlessTheBuffersAreEmptied) {
  const auto nothing = [](TraceBuilder&) {};
  EXPECT_EQ(writes_with(nothing), 2);
  EXPECT_EQ(writes_with(nothing, {{"core.write_combining_buffers", "1"}}), 16);
  const auto fence = [](FenceKind kind) {
    return [kind](TraceBuilder& builder) {
      builder.plain(builder.site(SiteKind::kFence, 0, 1, {}, {}, static_cast<std::uint8_t>(kind)));
    };
  };
  EXPECT_EQ(writes_with(fence(FenceKind::kSfence)), 4);
  EXPECT_EQ(writes_with(fence(FenceKind::kMfence)), 4);
  EXPECT_EQ(writes_with(fence(FenceKind::kLfence)), 2);
  EXPECT_EQ(writes_with([](TraceBuilder& builder) {
              builder.atomic(builder.site(SiteKind::kAtomicUpdate, 8), kDramBase, 0, 1, 1, true);
            }),
            4);
  EXPECT_EQ(writes_with([](TraceBuilder& builder) {
              builder.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 0);
              builder.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, 1);
            }),
            4);
  EXPECT_EQ(writes_with([](TraceBuilder& builder) {
              builder.store(builder.site(SiteKind::kStore, 8), kPmBase, 9);
            }),
            3)
      << "only the requested line; it stays in the caches";
}

TEST(NonTemporal, LoadAfterTheStoreFetchesTheLineAgain) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
  const std::uint32_t store = builder.site(SiteKind::kNonTemporal, 8);
  const std::uint32_t fence =
      builder.site(SiteKind::kFence, 0, 1, {}, {}, static_cast<std::uint8_t>(FenceKind::kMfence));
  builder.access(load, kPmBase);
  builder.store(store, kPmBase, 1);
  builder.plain(fence);
  builder.access(load, kPmBase);
  const RunResult result = run_trace(builder, design("x86", "none"));
  EXPECT_EQ(statistic(result, "pm.reads"), 2);
}

// Core 1 waits for core 0's 100 us of work, by the recorded order of an atomic variable.
RunResult wait_of_100_us(trace::LockRole role) {
  TraceBuilder builder;
  const std::uint32_t work = builder.site(SiteKind::kExecute, 0, 400000);
  const std::uint32_t add =
      builder.site(SiteKind::kAtomicUpdate, 8, 1, {}, {}, static_cast<std::uint8_t>(role));
  builder.thread(0);
  builder.plain(work);
  builder.atomic(add, kDramBase, 0, 1, 1, true);
  builder.thread(1);
  builder.atomic(add, kDramBase, 0, 2, 2, true);
  return run_trace(
      builder,
      design("x86", "none",
             {{"core.frequency", "1GHz"}, {"core.width", "4"}, {"run.lock_order", "recorded"}}));
}

TEST(Atomics, WaitForThePreviousVersionIsCountedAsAStallForTheRecordedOrder) {
  const RunResult result = wait_of_100_us(trace::LockRole::kNone);
  EXPECT_NEAR(statistic(result, "stall.order_ns"), 100000, 1000);
  EXPECT_EQ(statistic(result, "stall.lock_ns"), 0);
  EXPECT_GT(nanoseconds(result), 100000);
}

TEST(Atomics, WaitOfAnOwnLockIsCountedAsALockStall) {
  const RunResult result = wait_of_100_us(trace::LockRole::kTakes);
  EXPECT_NEAR(statistic(result, "stall.lock_ns"), 100000, 1000);
  EXPECT_EQ(statistic(result, "stall.order_ns"), 0);
}

// Thread 1 waits for 100 us of thread 0's work, by a call of each kind.
class SyncStall
    : public testing::TestWithParam<std::tuple<trace::SyncKind, trace::SyncKind, const char*>> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds, SyncStall,
    testing::Values(
        std::tuple(trace::SyncKind::kMutexUnlock, trace::SyncKind::kMutexLock, "lock"),
        std::tuple(trace::SyncKind::kWriteUnlock, trace::SyncKind::kReadLock, "lock"),
        std::tuple(trace::SyncKind::kConditionSignal, trace::SyncKind::kConditionWait, "condition"),
        std::tuple(trace::SyncKind::kSemaphorePost, trace::SyncKind::kSemaphoreWait, "condition"),
        std::tuple(trace::SyncKind::kSignal, trace::SyncKind::kWait, "condition"),
        std::tuple(trace::SyncKind::kBarrierArrive, trace::SyncKind::kBarrierWait, "barrier"),
        std::tuple(trace::SyncKind::kThreadCreate, trace::SyncKind::kThreadStart, "join"),
        std::tuple(trace::SyncKind::kThreadEnd, trace::SyncKind::kThreadJoin, "join")));

TEST_P(SyncStall, IsCountedUnderItsKindAlone) {
  const auto& [release, acquire, name] = GetParam();
  TraceBuilder builder;
  const std::uint32_t work = builder.site(SiteKind::kExecute, 0, 400000);
  builder.thread(0);
  builder.plain(work);
  builder.sync(release, kDramBase, 0, 1);
  builder.thread(1);
  builder.sync(acquire, kDramBase, 0, 1);
  const RunResult result = run_trace(
      builder,
      design("x86", "none",
             {{"core.frequency", "1GHz"}, {"core.width", "4"}, {"run.lock_order", "recorded"}}));
  for (const std::string each : {"lock", "condition", "barrier", "join", "order"}) {
    EXPECT_NEAR(statistic(result, "stall." + each + "_ns"), each == name ? 100000 : 0, 1000)
        << each;
  }
}

// The fence in a critical section takes 100 us. The unlock retires at once and is queued behind it.
class UnlockBehindFence : public testing::Test {
 protected:
  UnlockBehindFence() {
    builder.pm_region(kPmBase, kPmBase + 4096);
    builder.warm(kPmBase / kLineBytes, 0);
    builder.sync(SyncKind::kMutexLock, kDramBase, 0, 0);
    builder.store(builder.site(SiteKind::kStore, 8), kPmBase, 1);
    builder.access(builder.site(SiteKind::kFlush), kPmBase);
    builder.plain(builder.site(SiteKind::kFence));
    builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, 1);
  }
  RunResult run() {
    return run_trace(builder, design("x86", "none",
                                     {{"core.lock_order", "arm"},
                                      {"run.lock_order", "recorded"},
                                      {"pm.front_latency", "100us"}}));
  }
  TraceBuilder builder;
};

TEST_F(UnlockBehindFence, DelaysTheSameThreadsNextLockAsAFenceStall) {
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  const RunResult result = run();
  EXPECT_NEAR(statistic(result, "stall.fence_ns"), 100000, 2000);
  EXPECT_EQ(statistic(result, "stall.lock_ns"), 0);
}

TEST_F(UnlockBehindFence, DelaysAnotherThreadsLockAsAFenceStall) {
  builder.thread(1);
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  const RunResult result = run();
  EXPECT_NEAR(statistic(result, "stall.fence_ns"), 2 * 100000, 2000);  // 100 us of each thread.
  EXPECT_NEAR(statistic(result, "stall.lock_ns"), 0, 1000);
}

// while (!compare_exchange(old, ...)): what it expects is what it read itself, the time before.
TEST(Atomics, OperationMayDependOnItsOwnPreviousValue) {
  TraceBuilder builder;
  const std::uint32_t itself = trace::kBuiltinSites;  // the first site's number
  const std::uint32_t exchange = builder.site(SiteKind::kAtomicUpdate, 8, 1, {itself << 8});
  ASSERT_EQ(exchange, itself);
  for (std::uint32_t i = 1; i <= 10; ++i) builder.atomic(exchange, kDramBase, 0, i, i, true);
  EXPECT_EQ(statistic(run_trace(builder, design("x86", "none")), "core.operations"), 10);
}

TEST(Stuck, ErrorNamesTheStalledCoreAndTheLock) {
  TraceBuilder builder;
  builder.thread(0);
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 0);  // never released
  builder.thread(1);
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  for (const std::string_view order : {"recorded", "simulated"}) {
    try {
      run_trace(builder, design("x86", "none", {{"run.lock_order", order}}));
      FAIL() << "it should be stuck";
    } catch (const StuckError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("core 1"), std::string::npos) << text;
      EXPECT_EQ(text.find("core 0"), std::string::npos) << text;
      EXPECT_NE(text.find("waits for"), std::string::npos) << text;
      EXPECT_NE(text.find("object 0"), std::string::npos) << text;
    }
  }
}

// Builds a trace with two critical sections: thread 0 takes the lock first in the recording, and
// thread 1 requests it first in the simulation. Operations inside the lock execute in the order of
// the recording, thread 0 before thread 1.
TraceBuilder contended(const std::function<void(TraceBuilder&, std::uint32_t)>& inside) {
  TraceBuilder builder;
  const std::uint32_t work = builder.site(SiteKind::kExecute, 0, 4000);
  for (const std::uint32_t thread : {0u, 1u}) {
    builder.thread(thread);
    if (thread == 0) builder.plain(work);
    builder.sync(SyncKind::kMutexLock, kDramBase, 0, thread);
    inside(builder, thread);
    builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, thread + 1);
  }
  return builder;
}

TEST(SimulatedLockOrder, AtomicsUnderALockFollowTheOrderOfTheLock) {
  for (const SiteKind kind :
       {SiteKind::kAtomicUpdate, SiteKind::kAtomicStore, SiteKind::kAtomicLoad}) {
    TraceBuilder builder = contended([kind](TraceBuilder& b, std::uint32_t thread) {
      const std::uint32_t write = b.site(SiteKind::kAtomicUpdate, 8);
      if (kind == SiteKind::kAtomicLoad) {
        if (thread == 0) b.atomic(write, kDramBase + 64, 1, 1, 1, true);
        if (thread == 1) b.atomic(b.site(kind, 8), kDramBase + 64, 1, 1);
      } else {
        b.atomic(b.site(kind, 8), kDramBase + 64, 1, thread + 1, 1,
                 kind == SiteKind::kAtomicUpdate);
      }
    });
    const auto recorded = run_trace(builder, design("x86", "none"));
    const auto simulated =
        run_trace(builder, design("x86", "none", {{"run.lock_order", "simulated"}}));
    EXPECT_LT(simulated.time, recorded.time) << "thread 1 need not wait for thread 0's work";
  }
}

// Thread 2 takes the lock before thread 0, whose signal came first when it was recorded, and waits
// for thread 1's.
TEST(SimulatedLockOrder, LockHolderNeedsNoSignalFromAThreadThatWaitsForTheLock) {
  for (const auto& [wait, signal] :
       {std::pair{SyncKind::kConditionWait, SyncKind::kConditionSignal},
        {SyncKind::kSemaphoreWait, SyncKind::kSemaphorePost}}) {
    TraceBuilder builder;
    builder.thread(0).plain(builder.site(SiteKind::kExecute, 0, 4000));
    builder.sync(SyncKind::kMutexLock, kDramBase, 0, 0);
    builder.sync(signal, kDramBase + 64, 1, 1);
    builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, 1);
    builder.thread(1).sync(signal, kDramBase + 64, 1, 2);
    builder.thread(2).sync(SyncKind::kMutexLock, kDramBase, 0, 1);
    builder.sync(wait, kDramBase + 64, 1, 2);
    builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, 2);
    for (const std::string_view order : {"recorded", "simulated"}) {
      EXPECT_NO_THROW(run_trace(builder, design("x86", "none", {{"run.lock_order", order}})));
    }
  }
}

// A lock that the program has made itself of an atomic variable.
class OwnLock : public testing::Test {
 protected:
  std::uint32_t site(SiteKind kind, trace::LockRole role) {
    return builder.site(kind, 4, 1, {}, {}, static_cast<std::uint8_t>(role));
  }
  void take(std::uint32_t version, bool succeeds = true) {
    builder.atomic(take_, kDramBase, 0, version, 1, succeeds);
  }
  void give_back(std::uint32_t version) { builder.atomic(give_back_, kDramBase, 0, version, 0); }
  double simulated_to_recorded() {
    const auto recorded = run_trace(builder, design("x86", "none"));
    const auto simulated =
        run_trace(builder, design("x86", "none", {{"run.lock_order", "simulated"}}));
    return nanoseconds(simulated) / nanoseconds(recorded);
  }

  TraceBuilder builder;
  const std::uint32_t work_ = builder.site(SiteKind::kExecute, 0, 4000);

 private:
  const std::uint32_t take_ = site(SiteKind::kAtomicUpdate, trace::LockRole::kTakes);
  const std::uint32_t give_back_ = site(SiteKind::kAtomicStore, trace::LockRole::kGivesBack);
};

// Thread 0 has the lock first in the recording, and thread 1 requests it first in the simulation.
// Thread 1 failed to take it in the recording, and read that it was taken.
TEST_F(OwnLock, IsTakenByTheFirstThreadInSimulatedTime) {
  const std::uint32_t look = site(SiteKind::kAtomicLoad, trace::LockRole::kOther);
  const std::uint32_t count = builder.site(SiteKind::kAtomicUpdate, 4);
  for (const std::uint32_t thread : {0u, 1u}) {
    builder.thread(thread);
    if (thread == 0) builder.plain(work_);
    if (thread == 1) take(1, false);
    if (thread == 1) builder.atomic(look, kDramBase, 0, 2);
    take(2 * thread + 1);
    builder.atomic(count, kDramBase + 64, 1, thread + 1, thread + 1, true);
    builder.plain(work_);
    give_back(2 * thread + 2);
  }
  // The work takes three periods one after the other, or two if two of them overlap.
  EXPECT_NEAR(simulated_to_recorded(), 2.0 / 3, 0.05);
}

TEST_F(OwnLock, StaysTakenWhenItIsReinitializedTooEarly) {
  const std::uint32_t make = site(SiteKind::kAtomicStore, trace::LockRole::kOther);
  for (const std::uint32_t thread : {0u, 1u}) {
    builder.thread(thread);
    take(2 * thread + 1);
    builder.plain(work_);
    give_back(2 * thread + 2);
  }
  builder.thread(2).plain(builder.site(SiteKind::kExecute, 0, 1000));
  builder.atomic(make, kDramBase, 0, 5, 0);
  EXPECT_NEAR(simulated_to_recorded(), 1, 0.05);
}

// The operations of an annotated lock are in the recording. The annotation takes no more time than
// the lock needs to stall the operations after it.
TEST(AnnotatedLock, AnnotationTakesNoTime) {
  const auto time = [](std::string_view lock_order, bool recorded, bool annotated) {
    TraceBuilder builder;
    const std::uint32_t take = builder.site(SiteKind::kAtomicUpdate, 4);
    const std::uint32_t give_back = builder.site(SiteKind::kAtomicStore, 4);
    const std::uint32_t store = builder.site(SiteKind::kStore, 8);
    for (std::uint32_t i = 0; i < 100; ++i) {
      builder.atomic(take, kDramBase, 0, 2 * i + 1, 1, true);
      if (recorded) builder.sync(SyncKind::kMutexLock, kDramBase, 1, i, annotated);
      builder.store(store, kDramBase + 64, i);
      if (recorded) builder.sync(SyncKind::kMutexUnlock, kDramBase, 1, i + 1, annotated);
      builder.atomic(give_back, kDramBase, 0, 2 * i + 2, 0);
    }
    return nanoseconds(
        run_trace(builder, design("x86", "none", {{"core.lock_order", lock_order}})));
  };
  for (const std::string_view lock_order : {"x86", "arm"}) {
    SCOPED_TRACE(lock_order);
    const double alone = time(lock_order, false, false);
    EXPECT_NEAR(time(lock_order, true, true), alone, 0.1 * alone);
    EXPECT_GT(time(lock_order, true, false), 1.3 * alone);
  }
}

// With lock order by simulated time, an annotated lock behaves as any other lock.
TEST(AnnotatedLock, IsTakenByTheFirstThreadInSimulatedTime) {
  for (const bool annotated : {false, true}) {
    TraceBuilder builder;
    const std::uint32_t work = builder.site(SiteKind::kExecute, 0, 4000);
    for (const std::uint32_t thread : {0u, 1u}) {
      builder.thread(thread);
      if (thread == 0) builder.plain(work);
      builder.sync(SyncKind::kMutexLock, kDramBase, 0, thread, annotated);
      builder.plain(work);
      builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, thread + 1, annotated);
    }
    const auto run = [&](std::string_view order) {
      return nanoseconds(run_trace(builder, design("x86", "none", {{"run.lock_order", order}})));
    };
    EXPECT_NEAR(run("simulated") / run("recorded"), 2.0 / 3, 0.05);  // besides, the line comes
  }
}

TEST(Stuck, ErrorUnderSimulatedLockOrderNamesTheCure) {
  // With the lock, thread 1 waits for a signal that thread 0 gives with the lock.
  TraceBuilder builder = contended([](TraceBuilder& b, std::uint32_t thread) {
    b.sync(thread == 0 ? SyncKind::kSignal : SyncKind::kWait, kDramBase + 64, 1, 1);
  });
  EXPECT_NO_THROW(run_trace(builder, design("x86", "none")));
  try {
    run_trace(builder, design("x86", "none", {{"run.lock_order", "simulated"}}));
    FAIL() << "it should be stuck";
  } catch (const StuckError& error) {
    EXPECT_NE(std::string(error.what()).find("use run.lock_order=recorded"), std::string::npos);
  }
}

TEST(Statistics, CountTheOperationsOfTheProgram) {
  TraceBuilder builder;
  const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 2);
  const std::uint32_t branch = builder.site(SiteKind::kBranch, 0, 1);
  builder.access(load, kDramBase);
  builder.branch(branch, true);
  builder.external(20);
  builder.external(30, true);
  builder.sync(SyncKind::kMutexLock, kDramBase + 64, 0, 0);
  builder.sync(SyncKind::kMutexUnlock, kDramBase + 64, 0, 1);
  const RunResult result = run_trace(builder, design("x86", "none"));
  EXPECT_EQ(result.instructions, 53u);
  EXPECT_EQ(statistic(result, "core.external_instructions"), 50);
  EXPECT_EQ(statistic(result, "core.unknown_instructions"), 30);
  EXPECT_EQ(statistic(result, "core.operations"), 6);
  EXPECT_EQ(statistic(result, "core.loads"), 1);
  EXPECT_EQ(statistic(result, "core.branches"), 1);
  EXPECT_EQ(statistic(result, "core.locks"), 1);
}

}  // namespace
}  // namespace pmemsim
