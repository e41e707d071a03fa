// Findings of a program's check, on hand-written traces: each kind has a twin without findings.
#include "pmemsim/checks/rules/program_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "checked_trace.hpp"
#include "pmemsim/common/error.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::check {
namespace {

// ---- P1

TEST(ProgramCheck, StoreWithoutFlushIsReported) {
  CheckedTrace trace;
  trace.persist(kLine);
  trace.put(kOther);
  trace.sfence();
  trace.persist(kThird);
  EXPECT_EQ(trace.check(), (Found{"never-flushed 10", "useless-fence 30"}));
}

TEST(ProgramCheck, FlushedAndFencedStoreIsNotReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.clwb(kLine + 8);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, OnlyStoresSinceTheLastFlushAreReported) {
  CheckedTrace trace;
  trace.persist(kLine);
  trace.store(trace.second, kLine + 8, 1);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(ProgramCheck, FindingCountsItsLinesAndNamesTheFirstStore) {
  CheckedTrace trace;
  const std::uint32_t same_line = trace.at(10, SiteKind::kStore, 4);
  for (std::uint64_t i = 0; i < 50; ++i) {
    trace.put(kLine + 64 * i);
    trace.store(same_line, kLine + 64 * i + 8, 1);
  }
  const Report report = trace.report();
  ASSERT_EQ(report.findings.size(), 1);
  EXPECT_EQ(report.findings[0].count, 50);
  EXPECT_EQ(report.findings[0].operation, 0);
}

TEST(ProgramCheck, VolatileMemoryNeedsNoFlush) {
  CheckedTrace trace;
  trace.put(kHeapWord);
  trace.persist(kLine);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoreAcrossTwoLinesNeedsBothFlushes) {
  CheckedTrace trace;
  trace.put(kLine - 4);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"never-flushed 10"});
}

TEST(ProgramCheck, EadrNeedsNoFlush) {
  CheckedTrace trace;
  trace.put(kLine);
  EXPECT_EQ(trace.check({.eadr = true}), Found{});
}

TEST(ProgramCheck, LockWordsNeedNoFlush) {
  CheckedTrace trace;
  const auto takes = static_cast<std::uint8_t>(trace::LockRole::kTakes);
  const std::uint32_t lock = trace.at(70, SiteKind::kAtomicUpdate, 8, takes);
  const std::uint32_t counter = trace.at(71, SiteKind::kAtomicUpdate, 8);
  trace.atomic(lock, kLine, 0, 1, 1, true);
  EXPECT_EQ(trace.check(), Found{});
  trace.atomic(counter, kOther, 1, 1, 1, true);
  EXPECT_EQ(trace.check(), Found{"never-flushed 71"});
}

// ---- P2

TEST(ProgramCheck, StoreAfterItsFlushIsReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.sfence();
  trace.persist(kOther);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"stored-after-flush 11/20"});
}

TEST(ProgramCheck, StoreAfterItsFlushIsReportedAtTheEndOfTheProgram) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"stored-after-flush 11/20"});
}

TEST(ProgramCheck, StoreFlushedAgainBeforeTheFenceIsNotReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.clwb(kLine);
  trace.sfence();
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoreFlushedRightAfterTheFenceIsNotReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.sfence();
  trace.clwb(kLine);
  trace.sfence();
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoresAfterASecondFlushBeforeTheFenceAreNotReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.clwb(kLine);
  trace.sfence();
  trace.put(kLine);
  trace.persist(kOther);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoresAfterASecondFlushAfterTheFenceAreNotReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.sfence();
  trace.clwb(kLine);
  trace.sfence();
  trace.put(kLine);
  trace.persist(kOther);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoreAfterItsFlushIsNotReportedIfItsLineIsPersistedNext) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.sfence();
  trace.persist(kLine);
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), Found{});
}

// ---- P3, P4, P5

TEST(ProgramCheck, FlushWithoutFenceAtTheEndIsReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:end 20/20"});
}

TEST(ProgramCheck, LfenceDoesNotCountAsFence) {
  CheckedTrace trace;
  const std::uint32_t lfence = trace.fence_at(31, FenceKind::kLfence);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.plain(lfence);
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:end 20/31"});
}

TEST(ProgramCheck, LockedInstructionCountsAsFence) {
  CheckedTrace trace;
  const std::uint32_t locked = trace.at(70, SiteKind::kAtomicUpdate, 8, 0, trace::kSiteFullFence);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.atomic(locked, kHeapWord, 0, 1, 1, true);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, ClflushNeedsNoFence) {
  CheckedTrace trace;
  const std::uint32_t clflush = trace.flush_at(21, FlushKind::kClflush);
  trace.put(kLine);
  trace.access(clflush, kLine);
  EXPECT_EQ(trace.check(), Found{});
}

// A node at kLine, its pointer at kOther.
TEST(ProgramCheck, PointerToAFlushedButUnfencedLineIsReported) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(trace.second, kOther, kLine + 16);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:published 20/11"});
}

TEST(ProgramCheck, PointerStoredAfterTheFenceIsNotReported) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.persist(kLine);
  trace.persist(kOther, kLine);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, PointerToItsOwnLineIsNotReported) {
  CheckedTrace trace;
  trace.persist(kLine);
  trace.put(kLine + 8);
  trace.clwb(kLine);
  trace.put(kLine, kLine + 8);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

// kOther points to kLine, and both are new. A reader that can't reach kOther can't see an
// inconsistency.
TEST(ProgramCheck, PointerInANewLineIsNotReported) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.put(kOther + 8, kLine);
  trace.clwb(kOther);
  trace.sfence();
  trace.persist(kThird, kOther);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, PointerThatReplacesZeroIsReportedOnlyInAReachableLine) {
  for (const bool reached : {false, true}) {
    CheckedTrace trace;
    trace.persist(kOther, 0);
    if (reached) trace.persist(kThird, kOther);
    trace.put(kLine);
    trace.clwb(kLine);
    trace.store(trace.second, kOther, kLine);
    trace.clwb(kOther);
    trace.sfence();
    EXPECT_EQ(trace.check(), reached ? Found{"flushed-not-fenced:published 20/11"} : Found{});
  }
}

TEST(ProgramCheck, InitialContentsCountAsReachable) {
  CheckedTrace trace;
  trace.image_page(kOther & ~std::uint64_t{4095}, std::byte{1});
  trace.put(kLine);
  trace.clwb(kLine);
  trace.persist(kOther, kLine);
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:published 20/10"});
}

TEST(ProgramCheck, PointerPublishesOnlyItsLine) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.persist(kLine);
  trace.put(kLine + 64);
  trace.clwb(kLine + 64);
  trace.persist(kOther, kLine);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, PointerToAnAllocationPublishesAllItsLines) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.mark(MarkKind::kAllocate, kLine, 128);
  trace.persist(kLine);
  trace.put(kLine + 64);
  trace.clwb(kLine + 64);
  trace.persist(kOther, kLine);
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:published 20/10"});
}

TEST(ProgramCheck, PointerToAnUnflushedLineIsReported) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.put(kLine);
  trace.store(trace.second, kOther, kLine);
  trace.clwb(kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"published-unflushed:published 10/11"});
}

// The check reports only pointers to new lines: other lines may hold data that needn't persist with
// the pointer.
TEST(ProgramCheck, PointerToAnOldLineIsNotReported) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.persist(kLine);
  trace.put(kLine);
  trace.store(trace.second, kOther, kLine);
  trace.clwb(kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, PointerToInitialContentsIsNotReported) {
  CheckedTrace trace;
  trace.image_page(kLine & ~std::uint64_t{4095}, std::byte{1});
  trace.persist(kOther, 1);
  trace.put(kLine);
  trace.store(trace.second, kOther, kLine);
  trace.clwb(kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, UnlockDependsOnlyOnFlushesUnderTheLock) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sync(SyncKind::kMutexLock, kLockWord, 0, 0, true);
  trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 1, true);
  trace.begin();
  trace.end();
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, UnlockAfterAnUnfencedFlushIsReported) {
  for (const bool fenced : {false, true}) {
    CheckedTrace trace;
    trace.sync(SyncKind::kMutexLock, kLockWord, 0, 0, true);
    trace.put(kLine);
    trace.clwb(kLine);
    if (fenced) trace.sfence();
    trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 1, true);
    trace.persist(kOther);
    EXPECT_EQ(trace.check(), fenced ? Found{} : Found{"flushed-not-fenced:unlock 20/20"});
  }
}

TEST(ProgramCheck, UnlockOfAnInnerLockIsNotReported) {
  CheckedTrace trace;
  trace.sync(SyncKind::kMutexLock, kLockWord, 0, 0, true);
  trace.sync(SyncKind::kMutexLock, kLockWord + 64, 1, 0, true);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sync(SyncKind::kMutexUnlock, kLockWord + 64, 1, 1, true);
  trace.sfence();
  trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 1, true);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, RegionEndAfterAnUnfencedFlushIsReported) {
  for (const bool fenced : {false, true}) {
    CheckedTrace trace;
    trace.begin();
    trace.log(kLine);
    trace.put(kLine);
    trace.clwb(kLine);
    if (fenced) trace.sfence();
    trace.end();
    EXPECT_EQ(trace.check(), fenced ? Found{} : Found{"flushed-not-fenced:region_end 20/20"});
  }
}

// ---- Non-temporal stores

TEST(ProgramCheck, NonTemporalStoresNeedAFence) {
  for (const bool fenced : {false, true}) {
    CheckedTrace trace;
    trace.store(trace.nt_site, kLine, 1);
    if (fenced) trace.sfence();
    for (const bool eadr : {false, true}) {
      EXPECT_EQ(trace.check({.eadr = eadr}), fenced ? Found{} : Found{"nt-not-fenced:end 60/60"});
    }
  }
}

TEST(ProgramCheck, PointerToAnUnfencedNonTemporalStoreIsReported) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.store(trace.nt_site, kLine, 1);
  trace.persist(kOther, kLine);
  EXPECT_EQ(trace.check(), Found{"nt-not-fenced:published 60/10"});
}

// ---- P6, P7

TEST(ProgramCheck, UnlockFunctionDoesNotCountAsFence) {
  CheckedTrace trace;
  trace.sync(SyncKind::kMutexLock, kLockWord, 0, 0);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 1);
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), Found{"locked-fence-only:unlock 20/20"});
}

TEST(ProgramCheck, WriteLockCountsAsOneLock) {
  CheckedTrace trace;
  trace.sync(SyncKind::kWriteLock, kLockWord, 0, 0);
  trace.sync(SyncKind::kWriteLock, 0, 1, 0);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sync(SyncKind::kWriteUnlock, kLockWord, 0, 1);
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), Found{"locked-fence-only:unlock 20/20"});
}

TEST(ProgramCheck, FenceRightAfterTheUnlockFunctionIsEnough) {
  CheckedTrace trace;
  trace.sync(SyncKind::kMutexLock, kLockWord, 0, 0);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 1);
  trace.sfence();
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, PointerFencedOnlyByALockFunctionIsReported) {
  CheckedTrace trace;
  trace.persist(kOther, 1);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sync(SyncKind::kMutexLock, kLockWord, 0, 0);
  trace.persist(kOther, kLine);
  trace.sync(SyncKind::kMutexUnlock, kLockWord, 0, 1);
  EXPECT_EQ(trace.check(), Found{"locked-fence-only:published 20/10"});
}

TEST(ProgramCheck, FenceOfAnotherThreadDoesNotCount) {
  CheckedTrace trace;
  const std::uint32_t others = trace.fence_at(32);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.hand_over();
  trace.plain(others);
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), (Found{"flushed-by-another:end 20/32", "useless-fence 32"}));
}

TEST(ProgramCheck, UnorderedFenceOfAnotherThreadIsNotNamed) {
  CheckedTrace trace;
  const std::uint32_t others = trace.fence_at(32);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.thread(1);
  trace.plain(others);
  EXPECT_EQ(trace.check(), (Found{"flushed-not-fenced:end 20/20", "useless-fence 32"}));
}

TEST(ProgramCheck, FlushAndFenceOfAnotherThreadCount) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.hand_over();
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

// ---- P8

TEST(ProgramCheck, FlushOfACleanLineIsUseless) {
  CheckedTrace trace;
  const std::uint32_t again = trace.flush_at(22), clean = trace.flush_at(23);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.access(again, kLine);
  trace.sfence();
  trace.access(again, kLine);
  trace.access(clean, kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(),
            (Found{"useless-flush:flushed_before 22/20 x2", "useless-flush:clean 23"}));
}

TEST(ProgramCheck, UselessFlushesAreCountedAmongAllExecutions) {
  CheckedTrace trace;
  trace.persist(kLine);
  trace.persist(kLine);
  trace.clwb(kLine);
  trace.sfence();
  const Report report = trace.report();
  ASSERT_EQ(report.findings.size(), 1);
  EXPECT_EQ(report.findings[0].count, 1);
  EXPECT_EQ(report.findings[0].executions, 3);
}

TEST(ProgramCheck, ExecutionsOfASourceLineAreSummedOverItsSites) {
  CheckedTrace trace;
  const std::uint32_t first = trace.flush_at(22), second = trace.flush_at(22);
  trace.put(kLine);
  trace.access(first, kLine);
  trace.access(second, kLine);
  trace.access(second, kLine);
  trace.sfence();
  const Report report = trace.report();
  ASSERT_EQ(report.findings.size(), 1);
  EXPECT_EQ(report.findings[0].count, 2);
  EXPECT_EQ(report.findings[0].executions, 3);
}

TEST(ProgramCheck, FlushOfALineStoredBeforeTheRecordingIsNotUseless) {
  CheckedTrace trace;
  trace.mark(MarkKind::kRoiBegin);
  trace.sfence();
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, FlushOfACleanLineIsUselessIfTheSetUpIsRecorded) {
  CheckedTrace trace;
  trace.persist(kOther);
  trace.mark(MarkKind::kRoiBegin);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"useless-flush:clean 20"});
}

TEST(ProgramCheck, FlushOfVolatileMemoryIsUseless) {
  CheckedTrace trace;
  trace.clwb(kHeapWord);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"useless-flush:outside_pm 20"});
}

TEST(ProgramCheck, FlushAfterAnUnfencedFlushOfAnotherThreadIsNotUseless) {
  CheckedTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.hand_over();
  trace.access(trace.flush_at(22), kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"flushed-by-another:end 20/30"});
}

TEST(ProgramCheck, FenceWithADeclaredMeaningIsNotUseless) {
  CheckedTrace trace;
  trace.persist(kLine);
  trace.mark(MarkKind::kNextFence, 1);
  trace.sfence();
  trace.plain(trace.fence_at(33, FenceKind::kMfence));
  EXPECT_EQ(trace.check(), Found{});
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"useless-fence 30"});
}

// ---- R1 to R4

TEST(ProgramCheck, StoreToAnUnloggedLineInARegionIsReported) {
  CheckedTrace trace;
  trace.begin();
  trace.log(kLine);
  trace.put(kLine);
  trace.put(kLine + 56);  // the log has the whole line
  trace.store(trace.second, kOther, 1);
  trace.end();
  EXPECT_EQ(trace.check(), Found{"not-logged 11"});
}

TEST(ProgramCheck, MemoryAllocatedInTheRegionNeedsNoLog) {
  CheckedTrace trace;
  trace.begin();
  trace.mark(MarkKind::kAllocate, kLine, 100);
  trace.put(kLine + 120);
  trace.log(kOther);
  trace.put(kOther, kLine);
  trace.end();
  EXPECT_EQ(trace.check(), Found{});
  trace.begin();
  trace.put(kLine);
  trace.end();
  EXPECT_EQ(trace.check(), Found{"not-logged 10"});
}

// libpmemobj's log saves bytes, and its allocations may begin and end within lines.
TEST(ProgramCheck, StoreBesideALoggedRangeOfLibpmemobjIsReported) {
  CheckedTrace trace;
  trace.library("libpmemobj");
  trace.begin();
  trace.log(kLine);
  trace.put(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.end();
  EXPECT_EQ(trace.check(), Found{"not-logged 11"});
}

TEST(ProgramCheck, StoreBesideALoggedRangeOfAPmPoolIsNotReported) {
  CheckedTrace trace("pm_open");
  trace.library("libpmemobj");
  trace.begin();
  trace.log(kLine);
  trace.put(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.end();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoreBesideAnAllocationOfLibpmemobjIsReported) {
  CheckedTrace trace;
  trace.library("libpmemobj");
  trace.persist(kOther, kLine + 16);
  trace.begin();
  trace.mark(MarkKind::kAllocate, kLine + 16, 40);
  trace.put(kLine + 16);
  trace.put(kLine + 48);
  trace.store(trace.second, kLine + 56, 1);
  trace.end();
  EXPECT_EQ(trace.check(), Found{"not-logged 11"});
}

TEST(ProgramCheck, RangeOfLibpmemobjLoggedAfterItsStoreIsReported) {
  CheckedTrace trace;
  trace.library("libpmemobj");
  trace.begin();
  trace.put(kLine);
  trace.store(trace.second, kLine + 8, 1);
  trace.log(kLine);
  trace.log(kLine + 8);
  trace.end();
  EXPECT_EQ(trace.check(), (Found{"logged-late 40/10", "logged-late 40/11"}));
}

TEST(ProgramCheck, OnlyCommonBytesOfTwoOpenRegionsOfLibpmemobjAreReported) {
  for (const std::uint64_t second : {kLine + 8, kLine}) {
    CheckedTrace trace;
    trace.library("libpmemobj");
    trace.begin();
    trace.log(kLine);
    trace.hand_over();
    trace.begin();
    trace.log(second);
    EXPECT_EQ(trace.check(), second == kLine ? Found{"logged-by-two 40/40"} : Found{});
  }
}

TEST(ProgramCheck, NeighbourOfAFreedObjectOfLibpmemobjMayBeUsed) {
  CheckedTrace trace;
  trace.library("libpmemobj");
  trace.mark(MarkKind::kAllocate, kLine + 16, 112);
  trace.mark(MarkKind::kFree, kLine + 16, 112);
  trace.persist(kLine + 8);
  trace.persist(kLine + 128);
  EXPECT_EQ(trace.check(), Found{});
  trace.persist(kLine + 64);
  EXPECT_EQ(trace.check(), Found{"used-after-free:stored 10"});
}

TEST(ProgramCheck, StoresOfTheLibraryNeedNoLog) {
  CheckedTrace trace;
  const std::uint32_t own = trace.at(80, SiteKind::kStore, 8, 0, 0, "library");
  trace.begin();
  trace.store(own, kLine, 1);
  trace.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(Purpose::kCommit));
  trace.put(kOther);
  trace.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(Purpose::kProgram));
  trace.end();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, DirectStoreInARegionWithARedoLogIsReported) {
  CheckedTrace trace("pm_open, redo log");
  trace.begin();
  trace.log(kLine);
  trace.put(kLine);
  trace.end();
  EXPECT_EQ(trace.check(), Found{"not-logged 10"});
}

TEST(ProgramCheck, RangeLoggedAfterItsStoreIsReported) {
  CheckedTrace trace;
  trace.begin();
  trace.put(kLine + 32);
  trace.log(kLine);
  trace.put(kLine);
  trace.end();
  EXPECT_EQ(trace.check(), Found{"logged-late 40/10"});
}

TEST(ProgramCheck, RangeLoggedTwiceIsReported) {
  CheckedTrace trace;
  trace.begin();
  trace.log(kLine, 128);
  trace.log(kLine + 128, 8);
  trace.log(kLine + 120, 16);
  trace.put(kLine);
  trace.end();
  trace.begin();
  trace.log(kLine, 128);
  trace.put(kLine);
  trace.end();
  EXPECT_EQ(trace.check(), Found{"logged-twice 40/40"});
}

TEST(ProgramCheck, TwoLoggedRangesOfALineAreNotReported) {
  CheckedTrace trace;
  trace.begin();
  trace.log(kLine);
  trace.log(kLine + 8);
  trace.put(kLine);
  trace.end();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, UnorderedRegionsThatLogOneLineAreReported) {
  for (const bool ordered : {false, true}) {
    CheckedTrace trace;
    trace.begin();
    trace.log(kLine);
    trace.put(kLine);
    trace.end();
    if (ordered) trace.hand_over();
    trace.thread(1);
    trace.begin();
    trace.log(kLine + 8);
    trace.put(kLine + 8);
    trace.end();
    EXPECT_EQ(trace.check(), ordered ? Found{} : Found{"logged-by-two 40/40"});
  }
}

// ---- P9

struct ReadingTrace : CheckedTrace {
  const std::uint32_t made = at(12, SiteKind::kStore, 8, 0, 0, "work", {(load_site << 8) | 1});
  const std::uint32_t spill = at(13, SiteKind::kStore, 8, 0, 0, "work", {(load_site << 8) | 1});
  const std::uint32_t reload = at(51, SiteKind::kLoad, 8);
  const std::uint32_t made_of_spilled =
      at(14, SiteKind::kStore, 8, 0, 0, "work", {(reload << 8) | 1});

  // Thread 0 stores and writes back, and fences if `fenced`; then thread 1 loads.
  void read(bool fenced) {
    put(kLine);
    clwb(kLine);
    if (fenced) sfence();
    hand_over();
    access(load_site, kLine);
  }
  void finish() {
    clwb(kOther);
    sfence();
    thread(0);
    sfence();
  }
};

TEST(ProgramCheck, StoreComputedFromUnpersistedDataIsReported) {
  for (const bool fenced : {false, true}) {
    ReadingTrace trace;
    trace.read(fenced);
    trace.store(trace.made, kOther, 1);
    trace.finish();
    EXPECT_EQ(trace.check(), fenced ? Found{"useless-fence 30"} : Found{"reads-unpersisted 50/12"});
  }
}

// A push onto a list whose head another thread has changed: the new head replaces the former one.
TEST(ProgramCheck, UnpersistedPointerInANewObjectIsReportedUnlessTheObjectReplacesIt) {
  for (const std::uint64_t location : {kLine, kLine + 8, kThird}) {
    ReadingTrace trace;
    trace.read(false);
    trace.store(trace.made, kOther, 1);
    trace.clwb(kOther);
    trace.sfence();
    trace.store(trace.second, location, kOther);
    trace.clwb(location);
    trace.finish();
    const auto findings = trace.check();
    EXPECT_EQ(std::ranges::count(findings, "reads-unpersisted 50/12"), location == kLine ? 0 : 1);
  }
}

TEST(ProgramCheck, ObjectThatIsLinkedAgainBeforeItIsPublishedCountsOnce) {
  ReadingTrace trace;
  trace.read(false);
  trace.store(trace.made, kOther, 1);
  trace.store(trace.made, kOther, 2);
  trace.store(trace.second, kThird, kOther);
  trace.clwb(kThird);
  trace.finish();
  const auto findings = trace.check();
  EXPECT_EQ(std::ranges::count(findings, "reads-unpersisted 50/12"), 1);
}

TEST(ProgramCheck, StoreComputedFromOtherDataIsNotReported) {
  ReadingTrace trace;
  trace.read(false);
  trace.put(kOther, 1);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, UnpersistedValueIsTrackedThroughVolatileMemory) {
  for (const bool overwritten : {false, true}) {
    ReadingTrace trace;
    trace.read(false);
    trace.store(trace.spill, kHeapWord, 7);
    if (overwritten) trace.put(kHeapWord, 8);
    trace.access(trace.reload, kHeapWord);
    trace.store(trace.made_of_spilled, kOther, 1);
    trace.finish();
    EXPECT_EQ(trace.check(), overwritten ? Found{} : Found{"reads-unpersisted 50/14"});
  }
}

TEST(ProgramCheck, StoreAfterPersistingTheDataItReadIsNotReported) {
  ReadingTrace trace;
  trace.read(false);
  trace.clwb(kLine);
  trace.sfence();
  trace.store(trace.made, kOther, 1);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, UnorderedReadOfUnpersistedDataIsNotReported) {
  ReadingTrace trace;
  trace.put(kLine);
  trace.clwb(kLine);
  trace.sfence();
  trace.thread(1);
  trace.access(trace.load_site, kLine);
  trace.store(trace.made, kOther, 1);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoreComputedFromDataOfTheSameThreadIsNotReported) {
  ReadingTrace trace;
  trace.thread(1);
  trace.sfence();
  trace.thread(0);
  trace.put(kLine);
  trace.access(trace.load_site, kLine);
  trace.store(trace.made, kOther, 1);
  trace.clwb(kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"useless-fence 30"});
}

// Thread 1 stores to another word of the line, and thread 0 reads its own word again.
TEST(ProgramCheck, StoreComputedFromAnOwnWordOfALineWithStoresOfAnotherThreadIsNotReported) {
  ReadingTrace trace;
  trace.put(kLine);
  trace.hand_over();
  trace.put(kLine + 8);
  trace.sync(SyncKind::kThreadEnd, kLockWord + 64, 1, 1);
  trace.thread(0);
  trace.sync(SyncKind::kThreadJoin, kLockWord + 64, 1, 1);
  trace.access(trace.load_site, kLine);
  trace.store(trace.made, kOther, 1);
  trace.clwb(kOther);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, StoreToTheSameLineAsItsSourceIsNotReported) {
  ReadingTrace trace;
  trace.read(false);
  trace.store(trace.made, kLine + 8, 1);
  trace.clwb(kLine);
  trace.finish();
  EXPECT_EQ(trace.check(), Found{"useless-flush:clean 20"});
}

TEST(ProgramCheck, StoreThroughAnUnpersistedPointerButNotIndexIsReported) {
  for (const std::uint8_t bytes : {8, 4}) {
    ReadingTrace trace;
    const std::uint32_t load = trace.at(52, SiteKind::kLoad, bytes);
    const std::uint32_t through =
        trace.site(SiteKind::kStore, 8, 1, {(load << 8) | 1}, {}, 0, 0, {"mine.c", "work", 16});
    trace.read(false);
    trace.access(load, kLine);
    trace.store(through, kOther, 1);
    trace.finish();
    EXPECT_EQ(trace.check(), bytes == 8 ? Found{"reads-unpersisted 52/16"} : Found{});
  }
}

TEST(ProgramCheck, ReadOfNeverFlushedDataIsReportedAtTheStoreOnly) {
  ReadingTrace trace;
  trace.put(kLine);
  trace.hand_over();
  trace.access(trace.load_site, kLine);
  trace.store(trace.made, kOther, 1);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"never-flushed 10"});
}

// ---- A1, A2

TEST(ProgramCheck, AccessesToFreedMemoryAreReported) {
  CheckedTrace trace;
  trace.mark(MarkKind::kAllocate, kLine, 128);
  trace.persist(kLine + 64);
  trace.mark(MarkKind::kFree, kLine);
  trace.access(trace.load_site, kLine + 64);
  trace.persist(kLine);
  trace.access(trace.load_site, kLine + 128);
  EXPECT_EQ(trace.check(), (Found{"used-after-free:loaded 50/30", "used-after-free:stored 10/30"}));
}

TEST(ProgramCheck, AccessUnorderedWithAFreeIsNotReported) {
  for (const bool ordered : {false, true}) {
    CheckedTrace trace;
    trace.plain(trace.log_call);
    trace.mark(MarkKind::kFree, kLine);
    if (ordered) trace.hand_over();
    trace.thread(1);
    trace.persist(kOther);
    trace.access(trace.load_site, kLine);
    EXPECT_EQ(trace.check(), ordered ? Found{"used-after-free:loaded 50/40"} : Found{});
  }
}

TEST(ProgramCheck, AccessToReallocatedMemoryIsNotReported) {
  CheckedTrace trace;
  trace.mark(MarkKind::kFree, kLine);
  trace.mark(MarkKind::kAllocate, kLine, 64);
  trace.access(trace.load_site, kLine);
  trace.persist(kOther, kLine);
  EXPECT_EQ(trace.check(), Found{});
}

// The block begins in the middle of a line, and ends in a line that was free.
TEST(ProgramCheck, LastLineOfAnUnalignedReallocatedBlockIsNotReported) {
  CheckedTrace trace;
  trace.mark(MarkKind::kFree, kLine + 64);
  trace.mark(MarkKind::kAllocate, kLine + 32, 64);
  trace.access(trace.load_site, kLine + 64);
  trace.persist(kOther, kLine + 32);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, MemoryFreedInARegionMayBeUsedUntilItsEnd) {
  CheckedTrace trace;
  trace.begin();
  trace.plain(trace.log_call);
  trace.mark(MarkKind::kFree, kLine);
  trace.access(trace.load_site, kLine);
  trace.end();
  trace.persist(kOther);
  EXPECT_EQ(trace.check(), Found{});
  trace.access(trace.load_site, kLine);
  EXPECT_EQ(trace.check(), Found{"used-after-free:loaded 50/40"});
}

TEST(ProgramCheck, UnreachableAllocationIsReportedAsLeaked) {
  CheckedTrace trace;
  trace.plain(trace.log_call);
  trace.mark(MarkKind::kAllocate, kLine, 64);
  trace.plain(trace.log_call);
  trace.mark(MarkKind::kAllocate, kOther, 64);
  trace.persist(kLine, kOther + 8);
  trace.persist(kThird, kLine);
  EXPECT_EQ(trace.check(), Found{});
  trace.persist(kThird, 0);
  EXPECT_EQ(trace.check(), Found{"leaked 40 x2"}) << "a pointer in what has leaked is none";
}

TEST(ProgramCheck, OffsetMakesAnAllocationReachable) {
  CheckedTrace trace;
  trace.mark(MarkKind::kAllocate, kLine, 64);
  trace.persist(kThird, kLine - kPmBase);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, PointerInALogMakesNoAllocationReachable) {
  CheckedTrace trace;
  trace.plain(trace.log_call);
  trace.mark(MarkKind::kAllocate, kLine, 64);
  trace.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(Purpose::kLog));
  trace.persist(kThird, kLine);
  trace.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(Purpose::kProgram));
  EXPECT_EQ(trace.check(), Found{"leaked 40"});
}

// libpmemobj and malloc allocate ranges within lines.
TEST(ProgramCheck, PointerInALeakedOrFreedPartOfALineMakesNoObjectReachable) {
  for (const bool freed : {false, true}) {
    CheckedTrace trace;
    trace.library("libpmemobj");
    trace.plain(trace.log_call);
    trace.mark(MarkKind::kAllocate, kLine + 16, 40);
    trace.plain(trace.log_call);
    trace.mark(MarkKind::kAllocate, kOther + 16, 112);
    trace.persist(kLine + 24, kOther + 16 - kPmBase);
    trace.persist(kThird, kLine + 16);
    EXPECT_EQ(trace.check(), Found{});
    trace.persist(kThird, 0);
    if (freed) trace.mark(MarkKind::kFree, kLine + 16, 40);
    EXPECT_EQ(trace.check(), freed ? Found{"leaked 40"} : Found{"leaked 40 x2"});
  }
}

TEST(ProgramCheck, PointerBesideAnObjectMakesAnotherObjectReachable) {
  CheckedTrace trace;
  trace.library("libpmemobj");
  trace.mark(MarkKind::kAllocate, kLine + 16, 40);
  trace.persist(kLine + 8, kLine + 16);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, ObjectThatTheProgramCanListIsNotLeaked) {
  CheckedTrace trace;
  trace.library("libpmemobj");
  trace.plain(trace.log_call);
  trace.mark(MarkKind::kAllocate, kLine + 16, 40);
  EXPECT_EQ(trace.check(), Found{"leaked 40"});
  std::string metadata = trace.default_metadata();
  trace.metadata(metadata.insert(1, R"("lists_objects": true, )"));
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, AllocationOfAPersistentHeapIsNotLeaked) {
  CheckedTrace trace("--pm-heap");
  trace.mark(MarkKind::kAllocate, kLine, 64);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, FreedPartOfALineNeedsNoFlush) {
  CheckedTrace trace("--pm-heap");
  trace.mark(MarkKind::kAllocate, kLine + 16, 32);
  trace.put(kLine + 16);
  trace.store(trace.second, kLine + 48, 7);
  EXPECT_EQ(trace.check(), (Found{"never-flushed 10", "never-flushed 11"}));
  trace.mark(MarkKind::kFree, kLine + 16, 32);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(ProgramCheck, StoresToAFormerAllocationNeedNoFlush) {
  CheckedTrace trace("--pm-heap");
  trace.mark(MarkKind::kAllocate, kLine + 16, 32);
  trace.put(kLine + 16);
  trace.mark(MarkKind::kFree, kLine + 16, 32);
  trace.mark(MarkKind::kAllocate, kLine + 16, 32);
  EXPECT_EQ(trace.check(), Found{});
  trace.store(trace.second, kLine + 24, 7);
  EXPECT_EQ(trace.check(), Found{"never-flushed 11"});
}

TEST(ProgramCheck, UseOfAFreedPartOfALineIsReported) {
  CheckedTrace trace("--pm-heap");
  trace.plain(trace.log_call);
  trace.mark(MarkKind::kFree, kLine + 16, 32);
  trace.access(trace.load_site, kLine + 8);
  trace.access(trace.load_site, kLine + 48);
  EXPECT_EQ(trace.check(), Found{});
  trace.access(trace.load_site, kLine + 40);
  EXPECT_EQ(trace.check(), Found{"used-after-free:loaded 50/40"});
}

// ---- P10, P11

TEST(ProgramCheck, PointerToVolatileMemoryIsReported) {
  CheckedTrace trace;
  trace.put(kHeapWord, 1);
  trace.persist(kLine, kHeapWord + 8);
  EXPECT_EQ(trace.check(), Found{"volatile-pointer 10"});
}

// A structure that is copied whole may have padding with arbitrary contents.
TEST(ProgramCheck, CopiedPointerToVolatileMemoryIsNotReported) {
  CheckedTrace trace;
  const std::uint32_t copy = trace.at(15, SiteKind::kCopyStore, 0);
  trace.put(kHeapWord, 1);
  trace.copy(copy, kLine, 8, kHeapWord);
  trace.clwb(kLine);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, NumberThatIsNoUsedAddressIsNotReported) {
  CheckedTrace trace;
  trace.put(kHeapWord, 1);
  trace.put(0x10000000, 1);
  trace.persist(kLine, kHeapWord + 64);  // no access has this address
  trace.persist(kLine, 0x10000000);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, PointerToVolatileMemoryInAPersistentHeapIsNotReported) {
  CheckedTrace trace("--pm-heap");
  trace.put(kHeapWord, 1);
  trace.persist(kLine, kHeapWord);
  EXPECT_EQ(trace.check(), Found{});
}

TEST(ProgramCheck, UnalignedPointerThatMayTearIsReported) {
  CheckedTrace trace;
  trace.persist(kLine + 4, kOther);
  EXPECT_EQ(trace.check(), Found{"torn-publish 10"});
  CheckedTrace aligned;
  aligned.persist(kLine + 8, kOther);
  aligned.persist(kLine + 20, 12345);
  EXPECT_EQ(aligned.check(), Found{});
}

// ---- The findings

TEST(ProgramCheck, FindingListsItsCalls) {
  CheckedTrace trace;
  const std::uint32_t caller = trace.at(90, SiteKind::kExecute, 0, 0, 0, "caller");
  const std::uint32_t helper =
      trace.at(91, SiteKind::kFlush, 0, static_cast<std::uint8_t>(FlushKind::kClwb), 0, "helper");
  trace.put(kLine);
  trace.plain(caller);
  trace.access(helper, kLine);
  const Report report = trace.report();
  ASSERT_EQ(report.findings.size(), 1);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.place, (trace::SourceLocation{"mine.c", "helper", 91}));
  ASSERT_EQ(finding.calls.size(), 2);
  EXPECT_EQ(finding.calls[0], (trace::SourceLocation{"mine.c", "caller", 90}));
  EXPECT_EQ(finding.calls[1], (trace::SourceLocation{"mine.c", "work", 10}));
  EXPECT_EQ(finding.thread, 0);
  EXPECT_EQ(finding.operation, 2);
}

TEST(ProgramCheck, FindingListsItsInlinedCalls) {
  CheckedTrace trace;
  const std::uint32_t caller = trace.at(90, SiteKind::kExecute, 0, 0, 0, "caller");
  const std::uint32_t inlined =
      trace.at(91, SiteKind::kFlush, 0, static_cast<std::uint8_t>(FlushKind::kClwb), 0, "helper");
  const std::uint32_t outer = trace.inlined_call({"mine.c", "compiled", 93});
  trace.inlined(inlined, trace.inlined_call({"mine.c", "inner", 92}, outer));
  trace.put(kLine);
  trace.plain(caller);
  trace.access(inlined, kLine);
  const Report report = trace.report();
  ASSERT_EQ(report.findings.size(), 1);
  EXPECT_EQ(report.findings[0].place, (trace::SourceLocation{"mine.c", "helper", 91}));
  EXPECT_EQ(report.findings[0].calls,
            (std::vector<trace::SourceLocation>{{"mine.c", "inner", 92},
                                                {"mine.c", "compiled", 93},
                                                {"mine.c", "caller", 90},
                                                {"mine.c", "work", 10}}));
}

TEST(ProgramCheck, FindingInASystemHeaderIsReportedAtItsCaller) {
  for (const bool inlined : {true, false}) {
    CheckedTrace trace;
    const std::uint32_t caller =
        trace.at(90, SiteKind::kExecute, 0, 0, trace::kSiteNewFunction, "caller");
    const std::uint8_t flags = inlined ? 0 : trace::kSiteNewFunction;
    const std::uint32_t store = trace.site(SiteKind::kStore, 8, 1, {}, {}, 0, flags,
                                           {"/usr/include/c++/atomic", "std::store", 500});
    if (inlined) {
      const std::uint32_t outer = trace.inlined_call({"mine.c", "caller", 90});
      trace.inlined(store,
                    trace.inlined_call({"/usr/include/c++/atomic", "std::operator=", 400}, outer));
    }
    trace.plain(caller);
    trace.store(store, kLine, 7);
    const Report report = trace.report();
    ASSERT_EQ(report.findings.size(), 1);
    EXPECT_EQ(report.findings[0].place, (trace::SourceLocation{"mine.c", "caller", 90})) << inlined;
    EXPECT_TRUE(report.findings[0].calls.empty());
  }
}

TEST(ProgramCheck, FindingInTheLibraryIsReportedAtItsCaller) {
  CheckedTrace trace;
  const std::uint32_t flush =
      trace.at(81, SiteKind::kFlush, 0, static_cast<std::uint8_t>(FlushKind::kClwb), 0, "library");
  trace.put(kLine);
  trace.access(flush, kLine);
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:end 10/10"});
}

TEST(ProgramCheck, LibraryIsNotListedAsCaller) {
  CheckedTrace trace;
  const std::uint32_t inside = trace.at(82, SiteKind::kExecute, 0, 0, 0, "library");
  trace.plain(inside);
  trace.put(kLine);
  const Report report = trace.report();
  ASSERT_EQ(report.findings.size(), 1);
  EXPECT_TRUE(report.findings[0].calls.empty());
}

TEST(ProgramCheck, RecordingWithADeadlockIsRejected) {
  CheckedTrace trace;
  trace.sync(SyncKind::kWait, 0, 0, 1);
  EXPECT_THROW(trace.report(), trace::TraceError);
}

TEST(ProgramCheck, CheckStopsWhenTheCallbackReturnsFalse) {
  CheckedTrace trace;
  trace.put(kLine);
  const TemporaryTrace file(trace);
  EXPECT_THROW(check_program(trace::TraceFile(file.path()), {}, [](double) { return false; }),
               Interrupted);
}

// ---- N7

// A thread publishes a node without a fence, after it has made these words of a log persistent.
Found publish_after_log(std::vector<std::uint64_t> log, bool open = true) {
  CheckedTrace trace;
  const std::uint32_t pointer = trace.at(13, SiteKind::kStore, 8);
  trace.persist(kOther, kThird);  // the tail, which the log saves
  for (std::size_t i = 0; i < log.size(); ++i) trace.persist(kThird + 64 * (i + 1), log[i]);
  if (!open) trace.persist(kOther, kThird + 1024);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(pointer, kOther, kLine);
  trace.clwb(kOther);
  trace.sfence();
  return trace.check();
}

TEST(UndoLog, PublicationAfterACopyOfTheFormerDataIsANote) {
  const Found note{"flushed-not-fenced:undo_log 20/13"};
  EXPECT_EQ(publish_after_log({kOther, kThird}), note);
}

TEST(UndoLog, PublicationAfterAnIncompleteOrOlderCopyIsReported) {
  const Found finding{"flushed-not-fenced:published 20/13"};
  EXPECT_EQ(publish_after_log({}), finding);
  EXPECT_EQ(publish_after_log({kOther}), finding);
  EXPECT_EQ(publish_after_log({kThird}), finding);
  EXPECT_EQ(publish_after_log({kOther, kThird}, false), finding);
}

TEST(UndoLog, DataThatTheRecordingHasNotChangedYetMayBeLogged) {
  CheckedTrace trace;
  const std::uint32_t pointer = trace.at(13, SiteKind::kStore, 8);
  std::vector<std::byte> page(4096);
  std::memcpy(page.data(), &kThird, sizeof kThird);
  trace.image_page(kOther, page);
  trace.persist(kThird + 64, kOther);
  trace.persist(kThird + 128, kThird);
  trace.put(kLine);
  trace.clwb(kLine);
  trace.store(pointer, kOther, kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:undo_log 20/13"});
}

TEST(UndoLog, NewNodeThatRefersToTheFormerHeadIsNoLog) {
  CheckedTrace trace;
  const std::uint32_t pointer = trace.at(13, SiteKind::kStore, 8);
  trace.persist(kOther, kThird);
  trace.put(kLine, kThird);      // next
  trace.put(kLine + 8, kOther);  // the word that leads to the node
  trace.clwb(kLine);
  trace.store(pointer, kOther, kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:published 20/13"});
}

// Nodes with equal values in adjacent lines, or a node with nothing but a value that others have.
TEST(UndoLog, NeighboursInADoublyLinkedListAreNoLog) {
  for (const int nodes : {1, 2, 5}) {
    CheckedTrace trace;
    const std::uint32_t pointer = trace.at(13, SiteKind::kStore, 8);
    const auto node = [](int i) { return kThird + 64 * static_cast<std::uint64_t>(i); };
    for (int i = 0; i < nodes; ++i) {
      trace.put(node(i), 7);
      if (i > 0) trace.put(node(i) + 8, node(i - 1));
      trace.clwb(node(i));
      trace.sfence();
      trace.persist(i > 0 ? node(i - 1) + 16 : kOther, node(i));
    }
    trace.put(node(nodes), 7);
    trace.put(node(nodes) + 8, node(nodes - 1));
    trace.clwb(node(nodes));
    trace.store(pointer, kOther, node(nodes));
    trace.clwb(kOther);
    trace.sfence();
    EXPECT_EQ(trace.check(), Found{"flushed-not-fenced:published 20/13"}) << nodes;
  }
}

TEST(UndoLog, NewNodeWithoutAFlushIsANote) {
  CheckedTrace trace;
  const std::uint32_t pointer = trace.at(13, SiteKind::kStore, 8);
  trace.persist(kOther, kThird);
  trace.persist(kThird + 64, kOther);
  trace.persist(kThird + 128, kThird);
  trace.put(kLine);
  trace.store(pointer, kOther, kLine);
  trace.clwb(kLine);
  trace.clwb(kOther);
  trace.sfence();
  EXPECT_EQ(trace.check(), Found{"published-unflushed:undo_log 10/13"});
}

}  // namespace
}  // namespace pmemsim::check
