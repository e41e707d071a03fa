// PMEM-Spec's speculation IDs, the clock of its windows and the counted pauses of cores, each by
// itself.
#include <gtest/gtest.h>

#include "pmemsim/designs/ordering/core_pauses.hpp"
#include "pmemsim/designs/ordering/speculation_clock.hpp"
#include "pmemsim/designs/ordering/speculation_ids.hpp"
#include "unit/memory_bench.hpp"

namespace pmemsim {
namespace {

using trace::SyncKind;

TEST(SpeculationIds, InnerLocksAssignNewIdsUnlessTheOuterOneStays) {
  for (const bool inner : {true, false}) {
    PmemSpecParameters parameters;
    parameters.inner_locks = inner ? InnerLocks::kNewId : InnerLocks::kOuterId;
    SpeculationIds ids(parameters, 2);
    EXPECT_FALSE(ids.of(0));
    ids.synchronised(0, SyncKind::kMutexLock);
    ids.synchronised(0, SyncKind::kMutexLock);
    EXPECT_EQ(ids.of(0), inner ? 2u : 1u);
    ids.synchronised(1, SyncKind::kMutexLock);
    EXPECT_EQ(ids.of(1), inner ? 3u : 2u);
    ids.synchronised(0, SyncKind::kMutexUnlock);
    EXPECT_TRUE(ids.of(0));
    ids.synchronised(0, SyncKind::kMutexUnlock);
    EXPECT_FALSE(ids.of(0));
    EXPECT_EQ(ids.assigned(), inner ? 3u : 2u);
  }
}

TEST(SpeculationIds, UnlockWithoutLockDoesNotHideTheNextLock) {
  SpeculationIds ids({}, 1);
  ids.synchronised(0, SyncKind::kMutexUnlock);
  ids.synchronised(0, SyncKind::kMutexLock);
  EXPECT_EQ(ids.of(0), 1u);
  ids.synchronised(0, SyncKind::kMutexUnlock);
  EXPECT_FALSE(ids.of(0));
}

TEST(SpeculationIds, RolledBackRegionGetsANewIdOnlyIfItBeganUnderALock) {
  SpeculationIds ids({}, 1);
  ids.region_begins(0);
  ids.synchronised(0, SyncKind::kMutexLock);
  ids.region_rolls_back(0);
  EXPECT_FALSE(ids.of(0));
  ids.synchronised(0, SyncKind::kMutexLock);
  ids.region_begins(0);
  ids.region_rolls_back(0);
  EXPECT_EQ(ids.of(0), 3u);
}

TEST(SpeculationClock, StandsStillFromTheFirstBackedUpPathToTheLast) {
  EventQueue queue;
  const auto advance = [&](Time when) {
    queue.schedule(when, Phase::kCore, {[](void*, std::uint64_t, Time) {}, nullptr, 0});
    queue.step();
  };
  SpeculationClock stops({});
  PmemSpecParameters published;
  published.backed_up_windows = BackedUpWindows::kGoOn;
  SpeculationClock goes_on(published);
  for (SpeculationClock* const clock : {&stops, &goes_on}) {
    clock->connect(queue, Clock(Hertz{1'000'000'000}, 1));
  }
  advance(Time{10'000});
  for (SpeculationClock* const clock : {&stops, &goes_on}) clock->path_backed_up();
  advance(Time{14'000});
  for (SpeculationClock* const clock : {&stops, &goes_on}) clock->path_backed_up();
  advance(Time{17'000});
  for (SpeculationClock* const clock : {&stops, &goes_on}) clock->path_freed();
  EXPECT_TRUE(stops.paths_are_backed_up());
  EXPECT_EQ(stops.now(), Time{10'000});
  EXPECT_EQ(goes_on.now(), Time{17'000});
  advance(Time{19'000});
  for (SpeculationClock* const clock : {&stops, &goes_on}) clock->path_freed();
  advance(Time{20'000});
  EXPECT_EQ(stops.now(), Time{11'000});
  EXPECT_EQ(stops.backed_up_time(), Picoseconds{9'000});
  EXPECT_EQ(goes_on.now(), Time{20'000});
}

TEST(CorePauses, CoreContinuesWhenNoReasonIsLeft) {
  struct Threads final : ThreadControl {
    std::uint32_t cores() const override { return 1; }
    void pause(CoreId) override { paused = true; }
    void resume(CoreId) override { paused = false; }
    bool in_region(CoreId) const override { return false; }
    void rewind(CoreId) override {}
    bool paused = false;
  } threads;
  CorePauses pauses(1);
  pauses.connect(threads);
  pauses.pause(0);
  pauses.pause(0);
  pauses.resume(0);
  EXPECT_TRUE(threads.paused);
  pauses.resume(0);
  EXPECT_FALSE(threads.paused);
}

}  // namespace
}  // namespace pmemsim
