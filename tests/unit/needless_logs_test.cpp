// Calls of pm_log that a program doesn't need: hand-written traces of regions, with the operations
// that pm.h's library executes for them.
#include "pmemsim/checks/images/needless_logs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "run_trace.hpp"

namespace pmemsim::check {
namespace {

using trace::MarkKind;
using trace::Purpose;
using trace::SiteKind;

constexpr std::uint64_t kData = kPmBase + 4096, kLog = kPmBase + 65536, kCommit = kPmBase + 64;
constexpr std::uint64_t kAllocator = kPmBase + 128;
constexpr std::uint64_t line(std::uint64_t number) { return kData + number * kLineBytes; }

struct LoggingTrace : trace::TraceBuilder {
  LoggingTrace() { pm_region(kPmBase, kPmBase + (1 << 20), "pm_open"); }

  std::uint32_t at(SiteKind kind, std::uint8_t size, trace::TraceBuilder::Source source) {
    return site(kind, size, 1, {}, {}, 0, 0, std::move(source));
  }
  std::uint32_t in_library(SiteKind kind, std::uint8_t size, const char* function) {
    return at(kind, size, {"library/part.c", function, 7});
  }
  void purpose(Purpose purpose) { mark(MarkKind::kPurpose, static_cast<std::uint64_t>(purpose)); }

  void begin() { mark(MarkKind::kRegionBegin, 1); }

  // Calls pm_log_ranges at this line of the program. The allocator changes `deferred`.
  void log(std::uint32_t at_line, const std::vector<std::uint64_t>& ranges,
           const std::vector<std::uint64_t>& deferred = {}, const char* by = "region_log") {
    plain(at(SiteKind::kExecute, 0, {"mine.c", "work", at_line}));
    if (std::string(by) != "region_log") plain(in_library(SiteKind::kExecute, 0, by));
    plain(in_library(SiteKind::kExecute, 0, "region_log"));
    for (const std::uint64_t address : ranges) mark(MarkKind::kLogRange, address, 8);
    for (const std::uint64_t address : deferred) mark(MarkKind::kLogRange, address, 8);
    purpose(Purpose::kLog);
    bool any = false;
    for (const auto* part : {&ranges, &deferred}) {
      for (const std::uint64_t address : *part) any |= copy_line(address);
    }
    if (any) plain(fence_);
    purpose(Purpose::kProgram);
    for (const std::uint64_t address : deferred) store(library_store_, address, 1);
    plain(at(SiteKind::kExecute, 0, {"mine.c", "work", at_line}));
  }

  // Ends the region: flushes what it has logged and allocated, and commits.
  void end() {
    plain(in_library(SiteKind::kExecute, 0, "pm_end"));
    purpose(Purpose::kDataFlush);
    for (const std::uint64_t number : to_flush_) access(flush_, number * kLineBytes);
    if (!to_flush_.empty()) plain(fence_);
    purpose(Purpose::kProgram);
    if (!logged_.empty()) {
      purpose(Purpose::kCommit);
      store(library_store_, kCommit, 1);
      access(flush_, kCommit);
      plain(fence_);
      purpose(Purpose::kProgram);
    }
    mark(MarkKind::kRegionEnd, 1);
    plain(at(SiteKind::kExecute, 0, {"mine.c", "work", 99}));
    logged_.clear();
    to_flush_.clear();
  }

  void allocate(std::uint64_t address) {
    mark(MarkKind::kAllocate, address, 64);
    to_flush_.push_back(Line::of(address).number);
  }
  void set(std::uint64_t address, std::uint64_t value = 1) { store(store_, address, value); }
  void flush(std::uint64_t address) { access(own_flush_, address); }
  void fence() { plain(own_fence_); }

  // Describes each needless call as `line.range: reasons`.
  std::vector<std::string> found() {
    const TemporaryTrace file(*this);
    std::vector<std::string> all;
    for (const NeedlessLog& log : needless_logs(trace::TraceFile(file.path()), {}).each) {
      const std::string range = log.range > 0 ? fmt::format(".{}", log.range) : "";
      const std::string why =
          log.one_word ? "one word" : fmt::format("{}", fmt::join(log.reasons, ", "));
      all.push_back(fmt::format("{}{}: {}", log.call.place.line, range, why));
    }
    return all;
  }

 private:
  bool copy_line(std::uint64_t address) {
    const Line of = Line::of(address);
    if (std::ranges::find(logged_, of.number) != logged_.end()) return false;
    logged_.push_back(of.number);
    to_flush_.push_back(of.number);
    const std::uint64_t to = kLog + logged_.size() * kLineBytes;
    store(library_store_, kLog, of.number);
    for (std::uint64_t byte = 0; byte < kLineBytes; byte += 16) {
      copy(copy_load_, of.address() + byte, 16);
      copy(copy_store_, to + byte, 16);
    }
    access(flush_, kLog);
    access(flush_, to);
    return true;
  }

  std::uint32_t copy_load_ = in_library(SiteKind::kCopyLoad, 0, "log_write");
  std::uint32_t copy_store_ = in_library(SiteKind::kCopyStore, 0, "log_write");
  std::uint32_t library_store_ = in_library(SiteKind::kStore, 8, "log_write");
  std::uint32_t flush_ = in_library(SiteKind::kFlush, 0, "persist_flush");
  std::uint32_t fence_ = in_library(SiteKind::kFence, 0, "persist_fence");
  std::uint32_t store_ = at(SiteKind::kStore, 8, {"mine.c", "work", 90});
  std::uint32_t own_flush_ = at(SiteKind::kFlush, 0, {"mine.c", "work", 91});
  std::uint32_t own_fence_ = at(SiteKind::kFence, 0, {"mine.c", "work", 92});
  std::vector<std::uint64_t> logged_, to_flush_;  // Numbers of lines of the region
};

using Logs = std::vector<std::string>;

TEST(NeedlessLogs, LogOfAStoredLineIsNeeded) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0), line(1)});
  trace.set(line(0));
  trace.set(line(1));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, LogOfALineThatIsNotStoredToIsNeedless) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0)});
  trace.log(2, {line(1)});
  trace.set(line(0));
  trace.set(line(0) + 8);
  trace.end();
  EXPECT_EQ(trace.found(), Logs{"2: not stored to"});
}

TEST(NeedlessLogs, LogOfALineWithUnflushedStoresIsNeeded) {
  LoggingTrace trace;
  trace.set(line(1));
  trace.begin();
  trace.log(1, {line(0)});
  trace.log(2, {line(1)});  // pm_end flushes the line
  trace.set(line(0));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, LogOfAFlushedLineIsNeedlessOnlyAfterAFence) {
  for (const bool fenced : {false, true}) {
    LoggingTrace trace;
    trace.set(line(1));
    trace.flush(line(1));
    if (fenced) trace.fence();
    trace.begin();
    trace.log(1, {line(1)});
    trace.end();
    EXPECT_EQ(trace.found(), fenced ? Logs{"1: not stored to"} : Logs{});
  }
}

TEST(NeedlessLogs, LogWhoseFenceCompletesAFlushOfTheProgramIsNeeded) {
  LoggingTrace trace;
  trace.begin();
  trace.set(line(5));
  trace.flush(line(5));
  trace.log(1, {line(0)});
  trace.end();
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, LogWhoseCommitCompletesAFlushOfTheProgramIsNeeded) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0)});
  trace.set(line(5));
  trace.flush(line(5));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, LogOfAnAllocatedLineIsNeedless) {
  LoggingTrace trace;
  trace.begin();
  trace.allocate(line(1));
  trace.log(1, {line(0)});
  trace.log(2, {line(1)});
  trace.set(line(0));
  trace.set(line(1));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{"2: allocated in the region"});
}

TEST(NeedlessLogs, LogOfALineThatIsAllocatedLaterOrBeforeTheRegionIsNeeded) {
  LoggingTrace trace;
  trace.begin();
  trace.allocate(line(1));
  trace.set(line(1));
  trace.end();
  trace.begin();
  trace.log(1, {line(0), line(1), line(2)});
  trace.allocate(line(2));
  for (const std::uint64_t number : {0, 1, 2}) trace.set(line(number));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, FirstOfTwoLogsIsNeedlessIfTheSecondPrecedesTheStore) {
  for (const bool before : {true, false}) {
    LoggingTrace trace;
    trace.begin();
    trace.log(1, {line(0)});
    if (!before) trace.set(line(0));
    trace.log(2, {line(0), line(1)});
    trace.set(line(0));
    trace.set(line(1));
    trace.end();
    EXPECT_EQ(trace.found(), before ? Logs{"1: logged later"} : Logs{"2.1: logged before"});
  }
}

TEST(NeedlessLogs, SecondLogOfALineIsNeedless) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0), line(1)});
  trace.log(2, {line(0) + 8});
  trace.set(line(0));
  trace.set(line(0) + 8);
  trace.set(line(1));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{"2: logged before"});
}

TEST(NeedlessLogs, RangeOfACallIsNeedless) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0), line(1), line(2)});
  trace.set(line(0));
  trace.set(line(2));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{"1.2: not stored to"});
}

TEST(NeedlessLogs, CallThatOneExecutionNeedsIsNeeded) {
  LoggingTrace trace;
  for (const std::uint64_t number : {0, 1}) {
    trace.begin();
    trace.log(1, {line(2)});
    trace.log(2, {line(number)});
    trace.set(line(2));
    trace.set(line(0));
    trace.end();
  }
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, LogWithoutWhichALaterCallWouldFenceIsNeeded) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0)});
  trace.log(2, {line(0)});
  trace.set(line(0), 1);
  trace.set(line(0), 2);
  trace.end();
  trace.begin();
  trace.log(2, {line(1)});
  trace.set(line(1), 1);
  trace.set(line(1), 2);
  trace.end();
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, LogOfALineThatAnotherThreadStoresToBehindTheFlushIsNeeded) {
  LoggingTrace trace;
  trace.set(line(0));
  trace.flush(line(0));
  trace.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, 1);
  trace.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 2);
  trace.fence();
  trace.begin();
  trace.log(1, {line(0)});
  trace.end();
  trace.thread(1);
  trace.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 1);
  trace.set(line(0));
  trace.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, 2);
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, StoreOfAnotherThreadWhileTheRegionIsOpenMakesTheLogNeeded) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0)});
  trace.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, 1);
  trace.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 2);
  trace.end();
  trace.thread(1);
  trace.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 1);
  trace.set(line(0));
  trace.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, 2);
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, LogOfARegionThatStoresOneWordIsReplaceable) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0)});
  trace.set(line(0) + 16);
  trace.end();
  EXPECT_EQ(trace.found(), Logs{"1: one word"});
}

TEST(NeedlessLogs, LogOfARegionWithTwoStoresOrATornOneIsNotReplaceable) {
  LoggingTrace twice;
  twice.begin();
  twice.log(1, {line(0)});
  twice.set(line(0), 1);
  twice.set(line(0), 2);
  twice.end();
  EXPECT_EQ(twice.found(), Logs{});
  LoggingTrace torn;
  torn.begin();
  torn.log(1, {line(0)});
  torn.set(line(0) + 4);
  torn.end();
  EXPECT_EQ(torn.found(), Logs{});
}

TEST(NeedlessLogs, AllocatorsLinesMoveToTheNextLog) {
  LoggingTrace trace;
  trace.begin();
  trace.allocate(line(1));
  trace.log(1, {line(1)}, {kAllocator});
  trace.log(2, {line(0)});
  trace.set(line(0));
  trace.set(line(1));
  trace.end();
  EXPECT_EQ(trace.found(), Logs{"1: allocated in the region"});
}

TEST(NeedlessLogs, LogOfTheAllocatorsOwnRegionIsNoCall) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0)}, {}, "refill");
  trace.end();
  EXPECT_EQ(trace.found(), Logs{});
}

TEST(NeedlessLogs, RegionWithoutALogNeitherFlushesNorCommits) {
  LoggingTrace trace;
  trace.begin();
  trace.log(1, {line(0)});
  trace.end();
  const TemporaryTrace file(trace);
  const trace::TraceFile recording(file.path());
  const trace::LeftOut together = needless_logs(recording, {}).together;
  trace::OperationStream stream(recording, 0);
  trace::LeftOutOfThread left_out(together, 0);
  int left = 0;
  for (trace::Operation operation; stream.next(operation);) {
    const bool persists = operation.kind == SiteKind::kFlush || operation.kind == SiteKind::kFence;
    left += persists && !left_out.leaves_out(stream.position() - 1);
  }
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace pmemsim::check
