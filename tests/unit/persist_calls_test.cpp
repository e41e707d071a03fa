// Code that counts as one flush or fence of a program: hand-written traces, whose lines and
// functions tell which function calls which.
#include "pmemsim/checks/rules/persist_calls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/trace/site_flags.hpp"
#include "run_trace.hpp"

namespace pmemsim::check {
namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

constexpr std::uint64_t kFirst = kPmBase + 4096, kSecond = kFirst + kLineBytes;

struct CallingTrace : trace::TraceBuilder {
  CallingTrace() { pm_region(kPmBase, kPmBase + (1 << 20)); }

  std::uint32_t at(const std::string& function, std::uint32_t line, SiteKind kind,
                   std::uint8_t size = 0, std::uint8_t detail = 0) {
    return site(kind, size, 1, {}, {}, detail, 0, {"mine.c", function, line});
  }
  std::uint32_t store_at(const std::string& function, std::uint32_t line) {
    return at(function, line, SiteKind::kStore, 8);
  }
  std::uint32_t call_at(const std::string& function, std::uint32_t line) {
    return at(function, line, SiteKind::kExecute);
  }
  std::uint32_t clwb_at(const std::string& function, std::uint32_t line) {
    return at(function, line, SiteKind::kFlush, 0, static_cast<std::uint8_t>(FlushKind::kClwb));
  }
  std::uint32_t fence_at(const std::string& function, std::uint32_t line,
                         FenceKind kind = FenceKind::kSfence) {
    return at(function, line, SiteKind::kFence, 0, static_cast<std::uint8_t>(kind));
  }

  // Describes each call as `name line<call<call: numbers of thread 0|numbers of thread 1`.
  std::vector<std::string> found() {
    const TemporaryTrace file(*this);
    std::vector<std::string> all;
    for (const PersistCall& each : persist_calls(trace::TraceFile(file.path()))) {
      std::string text = fmt::format("{} {}", each.name, each.place.line);
      for (const trace::SourceLocation& call : each.calls) text += fmt::format("<{}", call.line);
      std::string_view before = ":";
      std::uint64_t executed = 0;
      for (const std::vector<std::uint64_t>& numbers : each.operations) {
        text += before;
        for (const std::uint64_t number : numbers) text += fmt::format(" {}", number);
        executed += numbers.size();
        before = "|";
      }
      EXPECT_EQ(each.executed(), executed);
      all.push_back(text);
    }
    return all;
  }
};

using Found = std::vector<std::string>;

TEST(PersistCalls, HelperIsDistinguishedByItsCallers) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), first = trace.call_at("work", 10),
                      second = trace.call_at("work", 20), flush = trace.clwb_at("flush", 3);
  for (int round = 0; round < 2; ++round) {
    trace.store(store, kFirst, 1);
    trace.plain(first);
    trace.access(flush, kFirst);
    trace.plain(second);
    trace.access(flush, kSecond);
  }
  EXPECT_EQ(trace.found(), (Found{"clwb 3<10: 2 7", "clwb 3<20: 4 9"}));
}

TEST(PersistCalls, NestedHelpersAreDistinguishedByAllCallers) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), first = trace.call_at("work", 10),
                      second = trace.call_at("work", 20), front = trace.call_at("persist", 5),
                      flush = trace.clwb_at("persist", 6), back = trace.call_at("persist", 7),
                      fence = trace.fence_at("fence", 2);
  trace.store(store, kFirst, 1);
  for (const std::uint32_t call : {first, second}) {
    trace.plain(call);
    trace.plain(front);
    trace.plain(fence);
    trace.access(flush, kFirst);
    trace.plain(back);
    trace.plain(fence);
  }
  EXPECT_EQ(trace.found(), (Found{"clwb 6<10: 4", "clwb 6<20: 10", "sfence 2<5<10: 3",
                                  "sfence 2<5<20: 9", "sfence 2<7<10: 6", "sfence 2<7<20: 12"}));
}

TEST(PersistCalls, CallersAboveTheFirstStoringFunctionAreIgnored) {
  CallingTrace trace;
  const std::uint32_t one = trace.call_at("main", 30), other = trace.call_at("main", 31),
                      store = trace.store_at("work", 9), call = trace.call_at("work", 10),
                      flush = trace.clwb_at("flush", 3);
  for (const std::uint32_t from : {one, other}) {
    trace.plain(from);
    trace.store(store, kFirst, 1);
    trace.plain(call);
    trace.access(flush, kFirst);
  }
  EXPECT_EQ(trace.found(), (Found{"clwb 3<10: 3 7"}));
}

TEST(PersistCalls, FunctionThatStoresToPmIsNotAHelper) {
  for (const bool persistent : {true, false}) {
    CallingTrace trace;
    const std::uint32_t first = trace.call_at("work", 10), second = trace.call_at("work", 20),
                        store = trace.store_at("set", 2), flush = trace.clwb_at("set", 3);
    for (const std::uint32_t call : {first, second}) {
      trace.plain(call);
      trace.store(store, persistent ? kFirst : kDramBase, 1);
      trace.access(flush, kFirst);
    }
    EXPECT_EQ(trace.found(),
              persistent ? Found{"clwb 3: 2 5"} : (Found{"clwb 3<10: 2", "clwb 3<20: 5"}));
  }
}

TEST(PersistCalls, AtomicUpdateIsAStoreOnlyIfItWrites) {
  for (const bool writes : {true, false}) {
    CallingTrace trace;
    const std::uint32_t first = trace.call_at("work", 10), second = trace.call_at("work", 20),
                        update = trace.at("set", 2, SiteKind::kAtomicUpdate, 8),
                        flush = trace.clwb_at("set", 3);
    std::uint32_t version = 0;
    for (const std::uint32_t call : {first, second}) {
      trace.plain(call);
      trace.atomic(update, kFirst, 0, ++version, 1, writes);
      trace.access(flush, kFirst);
    }
    EXPECT_EQ(trace.found(),
              writes ? Found{"clwb 3: 2 5"} : (Found{"clwb 3<10: 2", "clwb 3<20: 5"}));
  }
}

// The function that stores does nothing else, like the functions of std::atomic.
TEST(PersistCalls, StoreInACalledFunctionCountsForTheCallerThatFlushes) {
  CallingTrace trace;
  const std::uint32_t one = trace.call_at("main", 30), other = trace.call_at("main", 31),
                      sets = trace.call_at("work", 8), deeper = trace.call_at("set", 5),
                      store = trace.store_at("assign", 4), call = trace.call_at("work", 10),
                      flush = trace.clwb_at("flush", 3);
  for (const std::uint32_t from : {one, other}) {
    trace.plain(from);
    trace.plain(sets);
    trace.plain(deeper);
    trace.store(store, kFirst, 1);
    trace.plain(call);
    trace.access(flush, kFirst);
  }
  EXPECT_EQ(trace.found(), (Found{"clwb 3<10: 5 11"}));
}

TEST(PersistCalls, FunctionWithOnlyNonTemporalStoresIsAHelper) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), first = trace.call_at("work", 10),
                      second = trace.call_at("work", 20),
                      stream = trace.at("stream", 2, SiteKind::kNonTemporal, 8),
                      fence = trace.fence_at("stream", 3);
  trace.store(store, kSecond, 1);
  for (const std::uint32_t call : {first, second}) {
    trace.plain(call);
    trace.store(stream, kFirst, 1);
    trace.plain(fence);
  }
  EXPECT_EQ(trace.found(), (Found{"sfence 3<10: 3", "sfence 3<20: 6"}));
}

TEST(PersistCalls, InlinedHelperIsDistinguishedByItsCallers) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), one = trace.clwb_at("flush", 3),
                      other = trace.clwb_at("flush", 3);
  const std::uint32_t first = trace.inlined_call({"mine.c", "work", 10}),
                      second = trace.inlined_call({"mine.c", "work", 20});
  trace.inlined(one, trace.inlined_call({"mine.c", "persist", 6}, first));
  trace.inlined(other, trace.inlined_call({"mine.c", "persist", 6}, second));
  trace.store(store, kFirst, 1);
  trace.access(one, kFirst);
  trace.access(other, kFirst);
  trace.access(one, kFirst);
  EXPECT_EQ(trace.found(), (Found{"clwb 3<6<10: 1 3", "clwb 3<6<20: 2"}));
}

// The call that was inlined has the callers of the function that was compiled.
TEST(PersistCalls, HelperInsideAnInlinedCallIsDistinguishedByAllCallers) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), first = trace.call_at("work", 10),
                      second = trace.call_at("work", 20), front = trace.call_at("persist", 5),
                      fence = trace.fence_at("fence", 2);
  trace.inlined(front, trace.inlined_call({"mine.c", "outer", 7}));
  trace.store(store, kFirst, 1);
  for (const std::uint32_t call : {first, second}) {
    trace.plain(call);
    trace.plain(front);
    trace.plain(fence);
  }
  EXPECT_EQ(trace.found(), (Found{"sfence 2<5<7<10: 3", "sfence 2<5<7<20: 6"}));
}

TEST(PersistCalls, FenceInASystemHeaderIsReportedAtItsCaller) {
  for (const bool inlined : {true, false}) {
    CallingTrace trace;
    const std::uint32_t store = trace.store_at("work", 9), call = trace.call_at("work", 10),
                        fence = trace.site(SiteKind::kFence, 0, 1, {}, {}, 0, 0,
                                           {"/usr/include/atomic", "std::fence", 140});
    if (inlined) trace.inlined(fence, trace.inlined_call({"mine.c", "work", 10}));
    trace.store(store, kFirst, 1);
    trace.plain(call);
    trace.plain(fence);
    EXPECT_EQ(trace.found(), (Found{"sfence 10: 2"})) << inlined;
  }
}

TEST(PersistCalls, FlushInASystemHeaderIsDistinguishedByItsCallers) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), first = trace.call_at("work", 10),
                      second = trace.call_at("work", 20),
                      flush = trace.site(SiteKind::kFlush, 0, 1, {}, {},
                                         static_cast<std::uint8_t>(FlushKind::kClwb), 0,
                                         {"/usr/include/libpmem.h", "pmem_persist", 1});
  trace.store(store, kFirst, 1);
  for (const std::uint32_t call : {first, second, first}) {
    trace.plain(call);
    trace.access(flush, kFirst);
  }
  EXPECT_EQ(trace.found(), (Found{"clwb 10: 2 6", "clwb 20: 4"}));
}

// Only the marks of its site show whether `first` has returned, or has called the function with the
// fence.
TEST(PersistCalls, ReturnedFunctionIsNotACaller) {
  for (const bool ends : {true, false}) {
    CallingTrace trace;
    const auto marked = [&](SiteKind kind, const char* function, std::uint32_t line,
                            std::uint8_t flags) {
      return trace.site(kind, 0, 1, {}, {}, 0, flags | trace::kSiteNewFunction,
                        {"mine.c", function, line});
    };
    const std::uint32_t store = trace.store_at("work", 9),
                        first = marked(SiteKind::kExecute, "first", 5,
                                       ends ? trace::kSiteEntry | trace::kSiteExit : 0),
                        fence = marked(SiteKind::kFence, "fence", 2, trace::kSiteEntry);
    trace.store(store, kFirst, 1);
    trace.plain(first);
    trace.plain(fence);
    EXPECT_EQ(trace.found(), (ends ? Found{"sfence 2<9: 2"} : Found{"sfence 2<5<9: 2"}));
  }
}

// Makes sites with flags.
auto marking(CallingTrace& trace) {
  return [&trace](const char* function, std::uint32_t line, std::uint8_t flags,
                  SiteKind kind = SiteKind::kExecute) {
    return trace.site(kind, 0, 1, {}, {}, 0, flags, {"mine.c", function, line});
  };
}

// A function calls itself through another function, and fences in both calls. Its calls have the
// path of the outermost one.
TEST(PersistCalls, RecursiveCallsReturnOneByOne) {
  CallingTrace trace;
  const auto marked = marking(trace);
  const std::uint32_t store = trace.store_at("main", 30), call = trace.call_at("main", 31);
  const std::uint32_t begins = marked("node", 10, trace::kSiteNewFunction | trace::kSiteEntry),
                      splits = marked("node", 11, 0), goes_on = marked("node", 12, 0),
                      ends = marked("node", 13, trace::kSiteExit);
  const std::uint32_t split = marked("split", 20, trace::kSiteNewFunction | trace::kSiteEntry),
                      behind = marked("split", 21, 0),
                      split_ends = marked("split", 22, trace::kSiteExit);
  const std::uint32_t fence = marked(
      "fence", 2, trace::kSiteNewFunction | trace::kSiteEntry | trace::kSiteExit, SiteKind::kFence);
  trace.store(store, kFirst, 1);
  trace.plain(call);
  for (const std::uint32_t site : {begins, splits, split, begins, goes_on, fence, ends, behind,
                                   fence, split_ends, goes_on, fence, ends}) {
    trace.plain(site);
  }
  EXPECT_EQ(trace.found(), (Found{"sfence 2<12<31: 7 13", "sfence 2<21<11<31: 10"}));
}

// However deep, it goes back to its caller.
TEST(PersistCalls, DeepRecursionReturnsToItsCaller) {
  constexpr int kDeep = 3000;
  CallingTrace trace;
  const auto marked = marking(trace);
  const std::uint32_t store = trace.store_at("main", 30), call = trace.call_at("main", 31);
  const std::uint32_t outer = marked("outer", 41, trace::kSiteNewFunction | trace::kSiteEntry),
                      behind = marked("outer", 42, 0);
  const std::uint32_t begins = marked("node", 10, trace::kSiteNewFunction | trace::kSiteEntry),
                      goes_on = marked("node", 12, 0), ends = marked("node", 13, trace::kSiteExit);
  const std::uint32_t fence = marked(
      "fence", 2, trace::kSiteNewFunction | trace::kSiteEntry | trace::kSiteExit, SiteKind::kFence);
  trace.store(store, kFirst, 1);
  trace.plain(call);
  trace.plain(outer);
  for (int depth = 0; depth < kDeep; ++depth) {
    trace.plain(begins);
    trace.plain(goes_on);
  }
  trace.plain(fence);
  for (int depth = 0; depth < kDeep; ++depth) trace.plain(ends);
  trace.plain(behind);
  trace.plain(fence);
  EXPECT_EQ(trace.found(), (Found{"sfence 2<12<41<31: 6003", "sfence 2<42<31: 9005"}));
}

TEST(PersistCalls, EachThreadHasItsOwnCallStack) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), first = trace.call_at("work", 10),
                      second = trace.call_at("work", 20), flush = trace.clwb_at("flush", 3);
  trace.thread(0).store(store, kFirst, 1);
  trace.plain(first);
  trace.thread(1).store(store, kFirst, 1);
  trace.plain(second);
  trace.thread(0).access(flush, kFirst);
  trace.thread(1).access(flush, kFirst);
  EXPECT_EQ(trace.found(), (Found{"clwb 3<10: 2|", "clwb 3<20:| 2"}));
}

// Recordings that are older than inlined calls mark compiled functions and what is inlined.
TEST(PersistCalls, RecordingWithoutInlinedCallsTreatsInlinedCodeAsCalled) {
  CallingTrace trace;
  const std::uint32_t store =
      trace.site(SiteKind::kStore, 8, 1, {}, {}, 0, trace::kSiteNewFunction, {"mine.c", "work", 9});
  const std::uint32_t call = trace.call_at("work", 10);
  const std::uint32_t flush =
      trace.site(SiteKind::kFlush, 0, 1, {}, {}, 0, trace::kSiteInlined, {"mine.c", "flush", 3});
  trace.store(store, kFirst, 1);
  trace.plain(call);
  trace.access(flush, kFirst);
  EXPECT_EQ(trace.found(), (Found{"clwb 3<10: 2"}));
}

TEST(PersistCalls, InstructionsOfOneLineAreListedSeparately) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), one = trace.clwb_at("work", 10),
                      other = trace.clwb_at("work", 10);
  trace.store(store, kFirst, 1);
  trace.access(other, kFirst);
  trace.access(one, kFirst);
  trace.access(other, kFirst);
  EXPECT_EQ(trace.found(), (Found{"clwb 10: 2", "clwb 10: 1 3"}));
}

TEST(PersistCalls, EachThreadHasItsOwnOperationNumbers) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), call = trace.call_at("work", 10),
                      flush = trace.clwb_at("flush", 3);
  for (const std::uint32_t thread : {1u, 0u}) {
    trace.thread(thread).store(store, kFirst, 1);
    if (thread == 1) trace.store(store, kSecond, 1);
    trace.plain(call);
    trace.access(flush, kFirst);
  }
  EXPECT_EQ(trace.found(), (Found{"clwb 3<10: 2| 3"}));
}

TEST(PersistCalls, OnlyFlushesAndFencesOfPmAreListed) {
  CallingTrace trace;
  const std::uint32_t store = trace.store_at("work", 9), flush = trace.clwb_at("work", 10),
                      elsewhere = trace.clwb_at("work", 11),
                      loads = trace.fence_at("work", 12, FenceKind::kLfence),
                      all = trace.fence_at("work", 13, FenceKind::kMfence);
  trace.store(store, kFirst, 1);
  trace.access(flush, kFirst);
  trace.access(flush, kDramBase);
  trace.access(elsewhere, kDramBase);
  trace.plain(loads);
  trace.plain(all);
  EXPECT_EQ(trace.found(), (Found{"clwb 10: 1", "mfence 13: 5"}));
}

}  // namespace
}  // namespace pmemsim::check
