// The linter of hints: the causes to which it attributes the waits of writes, with times that can
// be added up by hand.
#include "pmemsim/checks/hints/hint_lint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "janus_bench.hpp"

namespace pmemsim {
namespace {

using trace::HintKind;

constexpr Picoseconds kCall = ns(2), kHalfCall = ns(1);
constexpr std::uint32_t kFirstCall = 100, kFlush = 500, kStore = 600;  // sites
constexpr Picoseconds kInQueue = kWay + ns(1);  // latency until a hint is queued and decoded

constexpr Line at_line(std::uint64_t number) { return {kHintedLine.number + number}; }

// The n-th hint comes from the site kFirstCall + n.
struct LintBench : JanusBench {
  explicit LintBench(const JanusValues& more = {}) : JanusBench(more) {
    design.observe(&lint, &lint);
    waited_before = operations_time();
  }

  void give(HintKind kind, std::uint32_t object, Line line, std::span<const std::byte> data,
            std::uint32_t bytes = kLineBytes) {
    const auto number = static_cast<std::uint32_t>(threads[0].hints.size());
    threads[0].hints.push_back({kFirstCall + number, false});
    const std::uint64_t address = kind == HintKind::kData ? 0 : line.address();
    design.hint(0, {kind, object, address, bytes, data, number}, now());
  }
  void both(Line line, std::uint64_t value) {
    give(HintKind::kBoth, 1000 + static_cast<std::uint32_t>(threads[0].hints.size()), line,
         data_of(value));
  }
  void free(std::uint32_t hint, std::uint32_t line = 0) { threads[0].freed.insert({hint, line}); }
  Picoseconds flush(Line line, std::uint64_t value) {
    threads[0].flushes[line.number].push_back(kFlush);
    lint.stored(line, kStore);
    lint.flushed(0, line);
    return write(line, value);
  }
  void end() {
    design.thread_ended(0);
    lint.finish();
  }

  double operations_time() const { return statistics().at("backend.time_ns"); }

  std::vector<RecordedCalls> threads{1};
  HintLint lint{threads, kCall};
  double waited_before = 0;
};

struct Expected {
  HintCause cause;
  std::uint32_t site;
  Picoseconds lost;
  std::uint64_t count = 1;
};

// Expects exactly these findings. Each waiting time belongs to exactly one of them.
void expect_findings(LintBench& bench, std::vector<Expected> expected) {
  bench.end();
  std::map<std::pair<HintCause, std::uint32_t>, std::pair<Picoseconds, std::uint64_t>> wanted,
      found;
  for (const Expected& each : expected) {
    wanted[{each.cause, each.site}] = {each.lost, each.count};
  }
  Picoseconds waited{};
  for (const auto& [key, finding] : bench.lint.findings()) {
    found[{key.cause, key.site}] = {finding.lost, finding.count};
    waited += finding.waited;
  }
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(waited, bench.lint.totals().waited);
  EXPECT_EQ(static_cast<double>(waited.count) / 1000,
            bench.operations_time() - bench.waited_before);
}

const SiteFinding& finding(const LintBench& bench, HintCause cause) {
  for (const auto& [key, found] : bench.lint.findings()) {
    if (key.cause == cause) return found;
  }
  throw Error("there is no such finding");
}

TEST(HintLint, HintInTimeIsNotReported) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.wait(kInQueue + kParallel);
  EXPECT_EQ(bench.flush(kHintedLine, 1), ns(0));
  expect_findings(bench, {});
  EXPECT_EQ(bench.lint.totals().hinted_lines, 1);
  EXPECT_EQ(bench.lint.totals().in_time, 1);
  EXPECT_EQ(bench.lint.totals().writes, 1);
}

// ---- Missing hints

TEST(HintLint, MissingHintIsReportedWithTheWholeWaitOfItsWrite) {
  LintBench bench;
  bench.flush(kHintedLine, 1);
  bench.flush(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kMissingAtFlush, kFlush, kParallel * 2, 2}});
  EXPECT_EQ(bench.lint.findings().begin()->first.store, kStore);
  EXPECT_EQ(bench.lint.totals().in_time, 0);
}

TEST(HintLint, MissingHintWithoutAFlushIsReportedAtTheLastStore) {
  LintBench bench;
  bench.flush(kHintedLine, 1);
  bench.lint.stored(kHintedLine, kStore + 1);
  bench.write(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kMissingAtFlush, kFlush, kParallel},
                          {HintCause::kMissingAtStore, kStore + 1, kParallel}});
}

TEST(HintLint, EachFlushOfALineIsReportedAtItsOwnSite) {
  LintBench bench;
  bench.threads[0].flushes[kHintedLine.number] = {kFlush + 1, kFlush + 2};
  bench.lint.flushed(0, kHintedLine);
  bench.write(kHintedLine, 1);
  bench.lint.flushed(0, kHintedLine);
  bench.write(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kMissingAtFlush, kFlush + 1, kParallel},
                          {HintCause::kMissingAtFlush, kFlush + 2, kParallel}});
}

// ---- Windows too short

TEST(HintLint, TooShortWindowIsReportedWithTheRemainingTime) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.wait(kInQueue + ns(100));
  bench.flush(kHintedLine, 1);
  expect_findings(bench, {{HintCause::kTooShort, kFirstCall, kParallel - ns(100)}});
  const SiteFinding& found = finding(bench, HintCause::kTooShort);
  EXPECT_EQ(found.writes, 1);
  EXPECT_EQ(found.distance, kInQueue + ns(100));
  EXPECT_EQ(found.waited, kParallel - ns(100));
}

TEST(HintLint, HintInFlightIsReportedAsTooShortWindow) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.wait(ns(5));
  bench.flush(kHintedLine, 1);
  bench.wait(ns(2000));  // what comes behind the write is no finding of its own
  expect_findings(bench, {{HintCause::kTooShort, kFirstCall, kParallel + kCall}});
  EXPECT_EQ(finding(bench, HintCause::kTooShort).distance, ns(5));
}

TEST(HintLint, TooShortWindowIsReportedAtTheLaterOfAddressAndDataHint) {
  for (const bool address_first : {true, false}) {
    LintBench bench;
    const HintKind first = address_first ? HintKind::kAddress : HintKind::kData;
    const HintKind second = address_first ? HintKind::kData : HintKind::kAddress;
    const LineData data = data_of(1);
    const auto known = [&](HintKind kind) {
      return kind == HintKind::kData ? std::span<const std::byte>(data) : std::span<std::byte>();
    };
    bench.give(first, 1, kHintedLine, known(first));
    bench.wait(ns(1000));
    bench.give(second, 1, kHintedLine, known(second));
    bench.wait(kInQueue);
    bench.flush(kHintedLine, 1);
    const Picoseconds left = address_first ? kParallel : kTree;
    expect_findings(bench, {{HintCause::kTooShort, kFirstCall + 1, left}});
  }
}

// ---- Useless hints

TEST(HintLint, UnwrittenLineIsReportedWithItsShareOfTheCall) {
  LintBench bench;
  std::array<std::byte, 2 * kLineBytes> data{};
  bench.give(HintKind::kBoth, 1, kHintedLine, data, 2 * kLineBytes);
  bench.wait(ns(2000));
  bench.flush(at_line(1), 0);
  expect_findings(bench, {{HintCause::kNeverWritten, kFirstCall, kHalfCall}});
}

TEST(HintLint, TooOldResultIsReportedWithTheWholeWaitOfItsWrite) {
  LintBench bench(JanusValues{{"janus.most_age", "2us"}});
  bench.both(kHintedLine, 1);
  bench.wait(kInQueue + ns(2000));
  bench.flush(kHintedLine, 1);
  bench.flush(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kTooOld, kFirstCall, kParallel + kCall},
                          {HintCause::kMissingAtFlush, kFlush, kParallel}});
}

TEST(HintLint, TooOldResultReplacedByAnotherHintIsReportedWithItsCall) {
  LintBench bench(JanusValues{{"janus.most_age", "2us"}});
  bench.both(kHintedLine, 1);
  bench.wait(ns(2500));
  bench.both(kHintedLine, 1);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.flush(kHintedLine, 1), ns(0));
  bench.flush(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kTooOld, kFirstCall, kCall},
                          {HintCause::kMissingAtFlush, kFlush, kParallel}});
}

TEST(HintLint, BufferedHintThatIsNeverStartedIsReported) {
  LintBench bench;
  bench.give(HintKind::kBothBuffered, 1, kHintedLine, data_of(1));
  bench.give(HintKind::kBothBuffered, 2, at_line(2), data_of(2));
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 1);
  expect_findings(bench, {{HintCause::kNotStarted, kFirstCall, kParallel + kCall},
                          {HintCause::kNotStarted, kFirstCall + 1, kCall}});
}

TEST(HintLint, DataHintAfterTheWriteIsReportedAsNotStarted) {
  LintBench bench;
  std::array<std::byte, 2 * kLineBytes> both{};
  std::ranges::copy(data_of(1), both.begin());
  std::ranges::copy(data_of(2), both.begin() + kLineBytes);
  bench.give(HintKind::kAddress, 1, kHintedLine, {}, 2 * kLineBytes);
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 1);
  bench.give(HintKind::kData, 1, {}, both, 2 * kLineBytes);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.flush(at_line(1), 2), ns(0));
  expect_findings(bench, {{HintCause::kAddressOnly, kFirstCall, kParallel},
                          {HintCause::kNotStarted, kFirstCall + 1, kHalfCall}});
}

TEST(HintLint, DataHintWithoutAnAddressIsReported) {
  LintBench bench;
  bench.give(HintKind::kData, 1, {}, data_of(1));
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 1);
  expect_findings(bench, {{HintCause::kDataOnly, kFirstCall, kCall},
                          {HintCause::kMissingAtFlush, kFlush, kParallel}});
}

TEST(HintLint, AddressHintWithoutDataIsReported) {
  LintBench bench;
  bench.give(HintKind::kAddress, 1, kHintedLine, {});
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 1);
  expect_findings(bench, {{HintCause::kAddressOnly, kFirstCall, kParallel}});
}

// ---- Invalidated hints

TEST(HintLint, HintWithOtherDataIsReported) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kData, kFirstCall, kParallel}});
}

TEST(HintLint, WrongDataAreReportedAtTheDataHint) {
  LintBench bench;
  bench.give(HintKind::kData, 1, {}, data_of(1));
  bench.give(HintKind::kAddress, 1, kHintedLine, {});
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 2);
  bench.flush(kHintedLine, 3);  // nothing of them is left for this one
  expect_findings(bench, {{HintCause::kData, kFirstCall, kParallel},
                          {HintCause::kMissingAtFlush, kFlush, kParallel}});
}

TEST(HintLint, MergedBufferedHintsAreReportedAtTheLastHint) {
  LintBench bench;
  const LineData data = data_of(1);
  bench.give(HintKind::kBothBuffered, 1, kHintedLine, std::span(data).first(8), 8);
  bench.give(HintKind::kBothBuffered, 1, kHintedLine, std::span(data).first(8), 8);
  bench.start(1);
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kData, kFirstCall + 1, kParallel}});
}

TEST(HintLint, CounterChangedByAnEarlierWriteIsReported) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.both(kHintedLine, 2);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.flush(kHintedLine, 1), ns(0));
  bench.flush(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kCounter, kFirstCall + 1, kParallel + kCall}});
}

TEST(HintLint, NewDuplicateElsewhereIsReported) {
  LintBench bench(JanusValues{{"integrity.staleness", "ignored"}});
  bench.both(kHintedLine, 1);
  bench.both(at_line(64), 1);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.flush(at_line(64), 1), ns(0));
  bench.write_out();
  bench.flush(kHintedLine, 1);
  expect_findings(bench, {{HintCause::kDuplicate, kFirstCall, kTree}});
}

TEST(HintLint, NewDuplicateIsReportedInsteadOfATooShortWindow) {
  LintBench bench(JanusValues{{"integrity.staleness", "ignored"}});
  bench.both(at_line(64), 1);
  bench.wait(ns(1000));
  bench.both(kHintedLine, 1);
  bench.wait(kInQueue + ns(321));  // the fingerprint and its look-up are done
  EXPECT_EQ(bench.flush(at_line(64), 1), ns(0));
  bench.pm.drain();  // 200 ns of the tree are done when the data are on the device
  bench.wait(ns(200));
  bench.flush(kHintedLine, 1);
  expect_findings(bench, {{HintCause::kDuplicate, kFirstCall + 1, kTree}});
}

TEST(HintLint, TreeChangedByOtherWritesIsReported) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.both(at_line(4), 2);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.flush(at_line(4), 2), ns(0));
  bench.flush(kHintedLine, 1);
  expect_findings(bench, {{HintCause::kTree, kFirstCall, ns(40) * 8}});
  EXPECT_EQ(bench.lint.totals().in_time, 2);
}

// ---- Freed memory

TEST(HintLint, HintForFreedMemoryIsReported) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.free(0);
  bench.wait(ns(1000));
  expect_findings(bench, {{HintCause::kFreed, kFirstCall, kCall}});
}

TEST(HintLint, WriteToFreedMemoryIsReportedAsMissingHint) {
  LintBench bench;
  bench.both(kHintedLine, 1);
  bench.free(0);
  bench.wait(ns(1000));
  bench.flush(kHintedLine, 2);
  expect_findings(bench, {{HintCause::kFreed, kFirstCall, kCall},
                          {HintCause::kMissingAtFlush, kFlush, kParallel}});
}

// ---- Full structures: the last line is dropped, though its data's look-up is cached

TEST(HintLint, HintDroppedByRequestQueueIsReported) {  // a queue of two entries
  LintBench bench(JanusValues{{"janus.request_entries", "1"}, {"janus.decode_latency", "100ns"}});
  for (std::uint64_t number = 0; number < 3; ++number) bench.both(at_line(number), 3 - number);
  bench.wait(ns(2000));
  bench.flush(at_line(2), 1);
  bench.flush(at_line(0), 3);
  bench.flush(at_line(1), 2);
  expect_findings(bench, {{HintCause::kRequestQueue, kFirstCall + 2, kParallel + kCall},
                          {HintCause::kTree, kFirstCall, ns(40) * 9},
                          {HintCause::kTree, kFirstCall + 1, ns(40) * 9}});
}

TEST(HintLint, BufferedHintDroppedByRequestQueueIsReported) {
  LintBench bench(JanusValues{{"janus.request_entries", "1"}});
  bench.give(HintKind::kBothBuffered, 1, kHintedLine, data_of(1));
  bench.give(HintKind::kBothBuffered, 2, at_line(64), data_of(2));
  bench.both(at_line(2), 3);
  bench.wait(ns(1000));
  bench.flush(at_line(2), 3);
  expect_findings(bench, {{HintCause::kRequestQueue, kFirstCall, kCall},
                          {HintCause::kNotStarted, kFirstCall + 1, kCall}});
}

TEST(HintLint,
     HintDroppedByOperationQueueIsReported) {  // a queue of two entries, while two units work
  LintBench bench(JanusValues{{"janus.operation_entries", "1"}, {"backend.units_per_core", "1"}});
  for (std::uint64_t number = 0; number < 5; ++number) bench.both(at_line(number), 5 - number);
  bench.wait(ns(2000));
  bench.flush(at_line(4), 1);
  bench.end();
  EXPECT_EQ(finding(bench, HintCause::kOperationQueue).lost, kParallel + kCall);
  EXPECT_EQ(finding(bench, HintCause::kOperationQueue).count, 1);
}

TEST(HintLint, HintDroppedByResultBufferIsReported) {  // a buffer of two entries
  LintBench bench(JanusValues{{"janus.result_entries", "1"}});
  for (std::uint64_t number = 0; number < 3; ++number) bench.both(at_line(number), 3 - number);
  bench.wait(ns(2000));
  bench.flush(at_line(2), 1);
  bench.end();
  EXPECT_EQ(finding(bench, HintCause::kResultBuffer).lost, kParallel + kCall);
  EXPECT_EQ(finding(bench, HintCause::kResultBuffer).count, 1);
}

}  // namespace
}  // namespace pmemsim
