// Summary, verification and dump of traces.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pmemsim/analysis/summary.hpp"
#include "pmemsim/analysis/verify.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "pmemsim/trace/dump.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "trace_builder.hpp"

namespace pmemsim::trace {
namespace {

constexpr std::uint64_t kPm = 0x10000;

class TraceToolsTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "pmemsim_trace_tools_" + std::to_string(getpid()) + ".pmt";
    builder_.pm_region(kPm, kPm + 0x1000);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  TraceFile written() {
    builder_.write(path_);
    return TraceFile(path_);
  }
  // Returns the error message of verify() for the trace; empty if there is none.
  std::string complaint() {
    try {
      verify(written());
    } catch (const TraceError& error) {
      return error.what();
    }
    return "";
  }
  void expect_complaint(const std::string& part) {
    const std::string text = complaint();
    EXPECT_NE(text.find(part), std::string::npos) << '"' << text << '"';
  }
  void purpose(Purpose purpose) {
    builder_.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
  }

  std::string path_;
  TraceBuilder builder_;
};

TEST_F(TraceToolsTest, SummaryCountsTheBusiestLock) {
  for (const std::uint32_t thread : {0u, 1u}) {
    builder_.thread(thread);
    builder_.sync(SyncKind::kMutexLock, 8, 0, thread);
    builder_.sync(SyncKind::kMutexUnlock, 8, 0, thread + 1);
    builder_.sync(SyncKind::kMutexLock, 16, thread + 1, 0);
    builder_.sync(SyncKind::kMutexUnlock, 16, thread + 1, 1);
  }
  const Summary summary = summarize(written());
  EXPECT_EQ(summary.threads[0].different_locks, 2u);
  EXPECT_EQ(summary.threads[0].busiest_lock, 1u);
  EXPECT_EQ(summary.total.locks, 4u);
  EXPECT_EQ(summary.total.different_locks, 3u);
  EXPECT_EQ(summary.total.busiest_lock, 2u);
}

TEST_F(TraceToolsTest, SummaryCountsOperationsOfEachKind) {
  const auto load = builder_.site(SiteKind::kLoad, 8, 3);
  const auto store = builder_.site(SiteKind::kStore, 8, 2);
  const auto copy = builder_.site(SiteKind::kCopyStore, 0, 1);
  const auto flush = builder_.site(SiteKind::kFlush);
  const auto fence = builder_.site(SiteKind::kFence);
  builder_.sync(SyncKind::kWriteLock, 8, 0, 0);
  builder_.sync(SyncKind::kWriteLock, 0, 1, 0);
  builder_.mark(MarkKind::kRegionBegin, 1);
  builder_.access(load, kPm);          // 3 instructions
  builder_.store(store, kPm + 60, 1);  // 2, and two lines
  builder_.store(store, kPm, 1);       // 2, a line again
  purpose(Purpose::kLog);
  builder_.store(store, kPm + 512, 1);  // 2, a line that the program didn't write
  purpose(Purpose::kProgram);
  builder_.mark(MarkKind::kRegionBegin, 2);
  builder_.copy(copy, kPm + 128, 5, 1);  // 1, a third line
  builder_.mark(MarkKind::kRegionEnd, 2);
  builder_.mark(MarkKind::kRegionEnd, 1);
  builder_.sync(SyncKind::kWriteUnlock, 8, 0, 1);
  builder_.access(load, 0x900000);  // 3, DRAM
  builder_.external(70);
  builder_.external(30, true);
  builder_.access(flush, kPm);
  builder_.plain(fence);
  builder_.thread(1).access(load, kPm + 4);  // 3
  builder_.image_page(kPm, std::byte{1});
  builder_.warm(64, 1);
  builder_.warm(128 | 1, 0);
  const Summary summary = summarize(written());
  ASSERT_EQ(summary.threads.size(), 2u);
  const ThreadSummary& thread = summary.threads[0];
  EXPECT_EQ(thread.operations, 19u);
  EXPECT_EQ(thread.by_kind[static_cast<std::size_t>(SiteKind::kMark)], 6u);
  EXPECT_EQ(thread.instructions, 15u);
  EXPECT_EQ(thread.external_instructions, 100u);
  EXPECT_EQ(thread.unknown_instructions, 30u);
  EXPECT_EQ(thread.instructions_by_purpose[static_cast<std::size_t>(Purpose::kLog)], 2u);
  EXPECT_EQ(thread.instructions_by_purpose[0], 113u);
  EXPECT_EQ(thread.pm_loads, 1u);
  EXPECT_EQ(thread.dram_loads, 1u);
  EXPECT_EQ(thread.pm_stores, 4u);
  EXPECT_EQ(thread.dram_stores, 0u);
  EXPECT_EQ(thread.pm_bytes_written, 29u);
  EXPECT_EQ(thread.pm_lines, 4u);
  EXPECT_EQ(thread.locks, 1u);
  EXPECT_EQ(thread.different_locks, 1u);
  EXPECT_EQ(thread.flushes, 1u);
  EXPECT_EQ(thread.fences, 1u);
  EXPECT_EQ(thread.regions, 1u);
  EXPECT_DOUBLE_EQ(thread.lines_per_region(), 3.0);
  EXPECT_DOUBLE_EQ(thread.instructions_per_region(), 10.0);
  EXPECT_DOUBLE_EQ(thread.program_instructions_per_region(), 8.0);
  EXPECT_EQ(summary.threads[1].pm_lines, 1u);
  EXPECT_EQ(summary.total.pm_lines, 4u);  // the threads share one
  EXPECT_EQ(summary.total.instructions, 18u);
  EXPECT_EQ(summary.sites, 5u);
  EXPECT_EQ(summary.image_pages, 1u);
  EXPECT_EQ(summary.warm_lines, 2u);
  EXPECT_NE(to_json(summary).find("\"pm_bytes_written\":29"), std::string::npos);
}

TEST_F(TraceToolsTest, SummaryDoesNotCountWaitsAsLocks) {
  for (std::uint8_t kind = 0; kind < kSyncKinds; ++kind) {
    builder_.sync(static_cast<SyncKind>(kind), 8, kind, 1);
  }
  EXPECT_EQ(summarize(written()).total.locks, 3u);
}

TEST_F(TraceToolsTest, InitialStateIsRead) {
  builder_.external(1);
  builder_.image_page(kPm, std::byte{7});
  builder_.warm(64, 0);
  builder_.warm(128 | 1, 0);
  const TraceFile file = written();
  int pages = 0;
  for_each_image_page(file, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    EXPECT_EQ(address, kPm);
    EXPECT_EQ(bytes.size(), kImagePageBytes);
    EXPECT_EQ(bytes[4095], std::byte{7});
    ++pages;
  });
  EXPECT_EQ(pages, 1);
  std::vector<std::uint64_t> lines;
  for_each_warm_line(file, [&](const WarmLine& line) { lines.push_back(line.line); });
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{64, 129}));
}

TEST_F(TraceToolsTest, InitialStateOfAMissingThreadIsRejected) {
  builder_.external(1);
  builder_.warm(64, 1);
  expect_complaint("a line accessed before the trace has an invalid address");
  EXPECT_THROW(simulate(TraceFile(path_), configure({}), {}), TraceError);
}

TEST_F(TraceToolsTest, InitialStateWithAnInvalidAddressIsRejected) {
  builder_.external(1);
  builder_.image_page(2 * kMaxAddress, std::byte{7});
  expect_complaint("a page of the image has an invalid address");
  EXPECT_THROW(simulate(TraceFile(path_), configure({}), {}), TraceError);
}

TEST_F(TraceToolsTest, LockTakenByTwoThreadsIsAccepted) {
  // Thread 1 first: the replay has to wait for it.
  builder_.thread(0).sync(SyncKind::kMutexLock, 8, 0, 1);
  builder_.sync(SyncKind::kMutexUnlock, 8, 0, 2);
  builder_.thread(1).sync(SyncKind::kMutexLock, 8, 0, 0);
  builder_.sync(SyncKind::kMutexUnlock, 8, 0, 1);
  EXPECT_EQ(verify(written()).operations, 4u);
}

TEST_F(TraceToolsTest, AcquiresOfEveryKindWaitForTheirReleases) {
  std::uint32_t object = 0;
  for (std::uint8_t kind = 0; kind < kSyncKinds; kind += 2, ++object) {
    builder_.thread(0).sync(static_cast<SyncKind>(kind), 8, object, 1);
    builder_.thread(1).sync(static_cast<SyncKind>(kind + 1), 8, object, 1);
  }
  EXPECT_EQ(verify(written()).operations, kSyncKinds);
}

TEST_F(TraceToolsTest, WaitForUnreleasedVersionIsReported) {
  builder_.sync(SyncKind::kWait, 8, 0, 1);
  expect_complaint("thread 0 at operation 0 waits for version 1 of object 0, which is at 0");
}

TEST_F(TraceToolsTest, DeadlockOfTwoThreadsIsReported) {
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    builder_.thread(thread).sync(SyncKind::kWait, 8, thread, 1);
    builder_.sync(SyncKind::kSignal, 8, 1 - thread, 1);
  }
  expect_complaint("the threads are deadlocked; thread 0");
}

TEST_F(TraceToolsTest, TurnBeforeItsReleaseIsReported) {
  builder_.thread(1).sync(SyncKind::kWait, 8, 0, 1);
  builder_.end_turn(3);
  builder_.thread(0).sync(SyncKind::kSignal, 8, 0, 1);
  builder_.end_turn(4);
  expect_complaint("turn 3 is too early: thread 1 at operation 0 waits for version 1");
}

TEST_F(TraceToolsTest, EqualTurnsOfTwoThreadsAreReported) {
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    builder_.thread(thread).external(1);
    builder_.end_turn(5);
  }
  expect_complaint("threads 0 and 1 have the same turn, number 5");
}

TEST_F(TraceToolsTest, OperationWithoutATurnIsReported) {
  builder_.external(1);
  builder_.end_turn(0);
  builder_.external(1);
  expect_complaint("thread 0, operation 1: the operation is in none of the thread's turns");
}

TEST_F(TraceToolsTest, DescendingTurnsAreReported) {
  for (const std::uint64_t number : {6, 5}) {
    builder_.external(1);
    builder_.end_turn(number);
  }
  expect_complaint("turn 5, up to operation 2 of 2, doesn't follow turn 6, up to operation 1");
}

TEST_F(TraceToolsTest, VersionReleasedTwiceIsReported) {
  builder_.sync(SyncKind::kSignal, 8, 0, 1);
  builder_.sync(SyncKind::kSignal, 8, 0, 1);
  expect_complaint("object 0 is released 2 times, but its last version is 1");
}

TEST_F(TraceToolsTest, VersionReleasedTwiceInsteadOfTheNextIsReported) {
  for (const std::uint32_t version : {1, 1, 3}) builder_.sync(SyncKind::kSignal, 8, 0, version);
  expect_complaint("object 0 is released 3 times, but its last version is 1");
}

TEST_F(TraceToolsTest, AnnotationWithoutAMutexIsReported) {
  builder_.sync(SyncKind::kMutexLock, 8, 0, 0, true);
  builder_.sync(SyncKind::kMutexUnlock, 8, 0, 1, true);
  EXPECT_EQ(verify(written()).operations, 2u);
  builder_.sync(SyncKind::kReadLock, 8, 1, 0, true);
  expect_complaint("is annotated, but neither acquires nor releases a mutex");
}

TEST_F(TraceToolsTest, AtomicWriteThatSkipsAVersionIsReported) {
  const auto store = builder_.site(SiteKind::kAtomicStore, 4);
  builder_.atomic(store, 8, 0, 2);
  expect_complaint("waits for version 1 of object 0");
}

TEST_F(TraceToolsTest, RegionBeginWithAWrongDepthIsReported) {
  builder_.mark(MarkKind::kRegionBegin, 2);
  expect_complaint("begins a region with a wrong depth");
}

TEST_F(TraceToolsTest, RegionEndWithoutABeginIsReported) {
  builder_.mark(MarkKind::kRegionEnd, 1);
  expect_complaint("ends a region that has not begun");
}

TEST_F(TraceToolsTest, UnfinishedRegionsAndPurposesAreNoted) {
  builder_.mark(MarkKind::kRegionBegin, 1);
  purpose(Purpose::kCommit);
  const Verification verification = verify(written());
  EXPECT_EQ(verification.notes,
            (std::vector<std::string>{"thread 0 ends inside a region",
                                      "thread 0 ends with the purpose \"commit\""}));
}

TEST_F(TraceToolsTest, DumpIsReadable) {
  const auto load = builder_.site(SiteKind::kLoad, 8, 3, {}, {}, 0, 0, {"a.c", "f", 12});
  const auto store = builder_.site(SiteKind::kStore, 4);
  const auto branch = builder_.site(SiteKind::kBranch);
  const auto flush = builder_.site(SiteKind::kFlush, 0, 1, {}, {}, 2);
  const auto recurrence = builder_.site(SiteKind::kRecurrence, 0, 0);
  const auto jump = builder_.site(SiteKind::kIndirectBranch);
  const auto outer = builder_.inlined_call({"a.c", "main", 30});
  builder_.inlined(load, builder_.inlined_call({"b.h", "g", 7}, outer));
  builder_.access(load, 0x1000);
  builder_.store(store, 0x1008, 0x2a);
  builder_.branch(branch, false);
  builder_.access(flush, 0x1008);
  purpose(Purpose::kDataFlush);
  builder_.mark(MarkKind::kLogRange, 0x1000, 64);
  builder_.sync(SyncKind::kMutexLock, 0x20, 0, 0);
  builder_.sync(SyncKind::kConditionSignal, 0x28, 1, 1);
  builder_.sync(SyncKind::kThreadEnd, 0x30, 2, 1);
  builder_.recurrence(recurrence, false);
  builder_.recurrence(recurrence, true);
  builder_.indirect_branch(jump, 7);
  const TraceFile file = written();
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* memory = open_memstream(&text, &size);
  dump(file, 0, 0, 100, memory);
  std::fclose(memory);
  EXPECT_STREQ(text,
               "0 load 0x1000 8 [3]  a.c:12 f < b.h:7 g < a.c:30 main\n"
               "1 store 0x1008 4 = 2a000000  test.c:1 test\n"
               "2 branch not_taken  test.c:1 test\n"
               "3 flush clflush 0x1008  test.c:1 test\n"
               "4 mark purpose data_flush [0]\n"
               "5 mark log_range 0x1000 0x40 [0]\n"
               "6 sync mutex_lock 0x20 object 0 version 0 [0]\n"
               "7 sync condition_signal 0x28 object 1 version 1 [0]\n"
               "8 sync thread_end 0x30 object 2 version 1 [0]\n"
               "9 recurrence begins [0]  test.c:1 test\n"
               "10 recurrence goes_on [0]  test.c:1 test\n"
               "11 indirect_branch to 7  test.c:1 test\n");
  std::free(text);

  memory = open_memstream(&text, &size);
  dump(file, 0, 2, 1, memory);
  std::fclose(memory);
  EXPECT_STREQ(text, "2 branch not_taken  test.c:1 test\n");
  std::free(text);
}

}  // namespace
}  // namespace pmemsim::trace
