// The call sites of hints and flushes, and the hinted lines that are freed, on traces built by
// hand.
#include "pmemsim/checks/hints/recorded_calls.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "pmemsim/designs/interface/lowered_stream.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using Freed = std::set<std::pair<std::uint32_t, std::uint32_t>>;

constexpr std::uint64_t kBlock = kPmBase + 4096;

struct CallTrace : trace::TraceBuilder {
  CallTrace() { pm_region(kPmBase, kPmBase + (1 << 20)); }

  std::uint32_t call_in(const char* file, std::uint32_t line) {
    return site(SiteKind::kExecute, 0, 0, {}, {}, 0, 0, {file, "function", line});
  }
  void hint(std::uint64_t address, std::uint64_t bytes) {
    mark(MarkKind::kHintData, 1, 2);
    mark(MarkKind::kHint, address, bytes);
  }
  void flush(std::uint64_t address) { access(flush_site, address); }
  RecordedCalls calls(std::uint32_t thread = 0) {
    const TemporaryTrace file(*this);
    return recorded_calls(trace::TraceFile(file.path()), thread, Lowering{});
  }

  const std::uint32_t program = call_in("mine.c", 7), other = call_in("mine.c", 9);
  const std::uint32_t library = call_in("library/log.c", 50);
  const std::uint32_t flush_site =
      site(SiteKind::kFlush, 0, 1, {}, {}, 0, 0, {"library/persist.c", "flush", 15});
  const std::uint32_t own_flush =
      site(SiteKind::kFlush, 0, 1, {}, {}, 0, 0, {"mine.c", "function", 11});
};

TEST(RecordedCalls, HintBelongsToTheCallBeforeIt) {
  CallTrace trace;
  trace.plain(trace.program);
  trace.hint(kBlock, 8);
  trace.plain(trace.other);
  trace.hint(kBlock, 8);
  const auto hints = trace.calls().hints;
  ASSERT_EQ(hints.size(), 2);
  EXPECT_EQ(hints[0].site, trace.program);
  EXPECT_EQ(hints[1].site, trace.other);
  EXPECT_FALSE(hints[0].of_library);
}

TEST(RecordedCalls, LibraryHintsAndFlushesBelongToTheirCaller) {
  CallTrace trace;
  trace.plain(trace.library);  // before the program has been seen at all
  trace.flush(kBlock);
  trace.plain(trace.program);
  trace.plain(trace.library);
  trace.hint(kBlock, 8);
  trace.flush(kBlock);
  trace.access(trace.own_flush, kBlock);
  const RecordedCalls calls = trace.calls();
  ASSERT_EQ(calls.hints.size(), 1);
  EXPECT_EQ(calls.hints[0].site, trace.program);
  EXPECT_TRUE(calls.hints[0].of_library);
  EXPECT_EQ(calls.flushes.at(Line::of(kBlock).number),
            (std::vector{trace.library, trace.program, trace.own_flush}));
}

// A region that begins again gives the same hints.
TEST(RecordedCalls, HintKeepsItsNumberWhenARegionIsExecutedAgain) {
  CallTrace trace;
  trace.hint(kBlock, 8);
  trace.mark(MarkKind::kRegionBegin, 1);
  trace.hint(kBlock, 8);
  const TemporaryTrace written(trace);
  const trace::TraceFile file(written.path());
  LoweredStream stream(file, 0, Lowering{}, {.hints = true});
  trace::Operation operation;
  const auto next_hint = [&] {
    while (stream.next(operation) &&
           operation.detail != static_cast<std::uint8_t>(MarkKind::kHint)) {
    }
    return stream.hint_number();
  };
  EXPECT_EQ(next_hint(), 0);
  ASSERT_TRUE(stream.next(operation));
  const LoweredStream::SavedPosition region = stream.before_region();
  EXPECT_EQ(next_hint(), 1);
  stream.go_to(region);
  EXPECT_EQ(next_hint(), 1);
}

TEST(RecordedCalls, ThreadsAreTrackedSeparately) {
  CallTrace trace;
  trace.plain(trace.program);
  trace.hint(kBlock, 8);
  trace.thread(1).plain(trace.other);
  trace.mark(MarkKind::kFree, kBlock);
  trace.flush(kBlock);
  EXPECT_EQ(trace.calls(0).freed, Freed());
  EXPECT_EQ(trace.calls(0).flushes.size(), 0);
  EXPECT_EQ(trace.calls(1).hints.size(), 0);
}

TEST(RecordedCalls, FreeOfABlockFreesItsHintedLines) {
  CallTrace trace;
  trace.mark(MarkKind::kAllocate, kBlock, 128);
  trace.hint(kBlock, 3 * 64);  // the last line is somebody else's
  trace.hint(kBlock + 64, 8);
  trace.mark(MarkKind::kFree, kBlock);
  EXPECT_EQ(trace.calls().freed, (Freed{{0, 0}, {0, 1}, {1, 0}}));
}

TEST(RecordedCalls, LineFlushedBeforeTheFreeIsNotFreed) {
  CallTrace trace;
  trace.mark(MarkKind::kAllocate, kBlock, 128);
  trace.hint(kBlock, 128);
  trace.flush(kBlock);
  trace.mark(MarkKind::kFree, kBlock);
  trace.hint(kBlock, 64);  // belongs to the next owner of the block
  EXPECT_EQ(trace.calls().freed, (Freed{{0, 1}}));
}

TEST(RecordedCalls, FreeOfAnUnrecordedBlockFreesOnlyItsFirstLine) {
  CallTrace trace;
  trace.hint(kBlock, 128);
  trace.hint(0, 64);  // data alone
  trace.mark(MarkKind::kFree, kBlock + 16);
  EXPECT_EQ(trace.calls().freed, (Freed{{0, 0}}));
}

}  // namespace
}  // namespace pmemsim
