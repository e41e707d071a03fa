// Janus's request queue, decoder, operation queue and intermediate result buffer (4.3, 4.4, 4.6),
// on requests written by hand, and the effect of other writes on results (4.3.1).
#include "pmemsim/designs/precompute/janus.hpp"
#include "pmemsim/designs/backend/backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "janus_bench.hpp"

namespace pmemsim {
namespace {

using trace::HintKind;

constexpr std::uint64_t kAddress = kHintedAddress;
constexpr Line kLine = kHintedLine;

using Values = JanusValues;

// A configuration in which a write without a hint takes as long as the tree, whatever its data are.
const Values kOneCore{{"core.count", "1"}, {"backend", "encryption,integrity"}};
const std::pair<std::string, std::string> kOneUnit{"backend.units_per_core", "1"};

Values with(Values values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

// ---- What is announced

TEST(Janus, WriteHintedInTimeTakesNoTime) {
  JanusBench bench;
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(kWay + ns(1) + kParallel);
  EXPECT_EQ(bench.write(kLine, 1), ns(0));
  EXPECT_EQ(bench.count("used"), 1);
  EXPECT_EQ(bench.count("used_late"), 0);
}

TEST(Janus, WriteHintedLateTakesTheRemainingTime) {
  JanusBench bench;
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(kWay + ns(1) + ns(100));
  EXPECT_EQ(bench.write(kLine, 1), kParallel - ns(100));
  EXPECT_EQ(bench.count("used_late"), 1);
}

TEST(Janus, ValueHintCoversEightBytes) {
  JanusBench bench;
  const LineData before = bench.pm_space.newest().read(kLine);
  const LineData five = data_of(5);
  bench.hint(HintKind::kValue, 1, kAddress, std::span(five).first(8), 8);
  bench.wait(ns(1000));
  LineData written = before;
  take_bytes(written, five, bytes_from(0, 8));
  EXPECT_EQ(bench.write(kLine, written), ns(0)) << "the other bytes are as they were then";
}

TEST(Janus, AddressAndDataOfAnObjectAreCombinedPerLine) {  // rule 6
  JanusBench bench;
  std::array<std::byte, 2 * kLineBytes> both{};
  std::ranges::copy(data_of(1), both.begin());
  std::ranges::copy(data_of(2), both.begin() + kLineBytes);
  bench.hint(HintKind::kData, 1, 0, both, 2 * kLineBytes);
  bench.wait(ns(1000));
  bench.address(1, kAddress, 2 * kLineBytes);
  bench.wait(kWay + ns(2) + kTree);
  EXPECT_EQ(bench.write({kLine.number + 1}, 2), ns(0));
  EXPECT_EQ(bench.count("operations"), 4);
  EXPECT_EQ(bench.count("used"), 1);
}

TEST(Janus, ObjectsOfTwoThreadsAreNotCombined) {
  JanusBench bench;
  bench.hint(HintKind::kData, 1, 0, data_of(1), kLineBytes, 0);
  bench.hint(HintKind::kAddress, 1, kAddress, {}, kLineBytes, 1);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.write(kLine, 1), kParallel);
  EXPECT_EQ(bench.count("used_in_part"), 1);
}

// None of the hinted data can be used. The results that depend on the line alone are further
// advanced in the older entry.
TEST(Janus, WriteWithOtherDataUsesTheOldestEntry) {
  JanusBench bench(Values{{"backend", "encryption,integrity"}});
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(ns(1000));
  bench.hint(HintKind::kBoth, 2, kAddress, data_of(2));
  bench.wait(kWay + ns(1));
  EXPECT_EQ(bench.write(kLine, 3), ns(40))
      << "the MAC; the pad and the tree are those of the first";
}

TEST(Janus, WriteWithTheHintedDataUsesTheNewestEntry) {
  JanusBench bench(Values{{"backend", "encryption,integrity"}});
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(ns(1000));
  bench.hint(HintKind::kBoth, 2, kAddress, data_of(1));
  bench.wait(kWay + ns(1));
  EXPECT_EQ(bench.write(kLine, 1), kTree);
}

// ---- The request queue

TEST(Janus, BufferedRequestsOfOneLineAreMergedUntilStarted) {  // Figure 8b
  JanusBench bench;
  const LineData three = data_of(3), four = data_of(4);
  LineData fields = three;
  std::memcpy(fields.data() + 8, four.data(), 8);
  take_bytes(fields, bench.pm_space.newest().read(kLine), ~bytes_from(0, 16));
  bench.hint(HintKind::kBothBuffered, 1, kAddress, std::span(three).first(8), 8);
  bench.hint(HintKind::kBothBuffered, 1, kAddress + 8, std::span(four).first(8), 8);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("operations"), 0);
  EXPECT_EQ(bench.count("requests_merged"), 1);
  bench.start(1);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("operations"), 1);
  EXPECT_EQ(bench.write(kLine, fields), ns(0));
}

TEST(Janus, BufferedRequestsOfDistantLinesAreNotMerged) {
  JanusBench bench;
  bench.hint(HintKind::kAddressBuffered, 1, kAddress, {});
  bench.hint(HintKind::kAddressBuffered, 1, kAddress + 64, {});
  bench.hint(HintKind::kAddressBuffered, 1, kAddress + 3 * 64, {});
  bench.hint(HintKind::kAddressBuffered, 2, kAddress, {});
  bench.wait(ns(100));
  EXPECT_EQ(bench.count("requests_merged"), 1);
}

TEST(Janus, BufferedRequestsOfAdjacentLinesAreMerged) {
  JanusBench bench;
  for (const std::uint64_t line : {1u, 0u, 2u}) {
    bench.hint(HintKind::kAddressBuffered, 1, kAddress + line * 64, {});
  }
  bench.wait(ns(100));
  EXPECT_EQ(bench.count("requests_merged"), 2);
}

TEST(Janus, FullRequestQueueDropsItsOldestBufferedRequest) {
  JanusBench bench(Values{{"janus.request_entries", "1"}});  // for each of two cores
  bench.hint(HintKind::kBothBuffered, 1, kAddress, data_of(1));
  bench.hint(HintKind::kBothBuffered, 2, kAddress + 64 * 64, data_of(2));
  bench.hint(HintKind::kBothBuffered, 3, kAddress + 2 * 64, data_of(3));
  bench.wait(ns(100));
  EXPECT_EQ(bench.count("requests_dropped"), 1);
  bench.start(1);
  bench.start(3);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("operations"), 1);
  EXPECT_EQ(bench.write({kLine.number + 2}, 3), ns(0));
}

TEST(Janus, FullRequestQueueOfImmediateRequestsDropsTheNewOne) {
  JanusBench bench(Values{{"janus.request_entries", "1"}, {"janus.decode_latency", "100ns"}});
  for (std::uint32_t object = 1; object <= 3; ++object) bench.address(object, kAddress);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("requests_dropped"), 1);
  EXPECT_EQ(bench.count("operations"), 2);
}

TEST(Janus, DecoderHandlesOneLineOfOneRequestAtATime) {
  const auto left_to_do = [](std::uint64_t line) {
    JanusBench bench(with(kOneCore, {{"janus.decode_latency", "100ns"}}));
    bench.hint(HintKind::kBothBuffered, 1, kAddress, data_of(1));
    bench.lines(2, kAddress + 64, {2, 3});
    bench.hint(HintKind::kBoth, 3, kAddress + 3 * 64, data_of(4));
    bench.start(1);  // it hasn't lost its place
    bench.wait(kWay + ns(100) + kTree);
    EXPECT_EQ(bench.count("operations"), 4);
    return bench.write({kLine.number + line}, line + 1);
  };
  EXPECT_EQ(left_to_do(0), ns(0));
  EXPECT_EQ(left_to_do(1), ns(100));
  EXPECT_EQ(left_to_do(2), ns(200));
  EXPECT_EQ(left_to_do(3), ns(300));
}

// ---- The operation queue and the result buffer

TEST(Janus, FullOperationQueueDropsNewOperations) {
  const auto left_to_do = [](std::uint64_t line) {
    JanusBench bench(with(kOneCore, {{"janus.operation_entries", "1"}, kOneUnit}));
    bench.lines(1, kAddress, {1, 2, 3, 4});
    bench.wait(ns(2000));
    EXPECT_EQ(bench.count("operations"), 4);
    EXPECT_EQ(bench.count("operations_dropped"), 2);
    return bench.write({kLine.number + line}, line + 1);
  };
  EXPECT_EQ(left_to_do(0), ns(0)) << "the unit had it";
  EXPECT_EQ(left_to_do(1), ns(0)) << "the queue had it";
  EXPECT_EQ(left_to_do(2), kTree);
  EXPECT_EQ(left_to_do(3), kTree);
}

TEST(Janus, FullResultBufferDropsNewResults) {
  const auto left_to_do = [](std::uint64_t line) {
    JanusBench bench(with(kOneCore, {{"janus.result_entries", "2"}}));
    bench.lines(1, kAddress, {1, 2, 3, 4});
    bench.wait(ns(1000));
    EXPECT_EQ(bench.count("results_dropped"), 2);
    return bench.write({kLine.number + line}, line + 1);
  };
  EXPECT_EQ(left_to_do(0), ns(0));
  EXPECT_EQ(left_to_do(1), ns(0));
  EXPECT_EQ(left_to_do(2), kTree);
  EXPECT_EQ(left_to_do(3), kTree);
}

// ---- Figure 14: all structures so many times

TEST(Janus, ScaleMultipliesTheUnits) {
  const auto left_to_do = [](const char* scale) {
    JanusBench bench(with(kOneCore, {kOneUnit, {"janus.scale", scale}}));
    bench.lines(1, kAddress, {1, 2});
    bench.wait(kWay + ns(2) + kTree);
    return bench.write({kLine.number + 1}, 2);
  };
  EXPECT_EQ(left_to_do("1"), kTree - ns(1)) << "it began when the first line was done";
  EXPECT_EQ(left_to_do("2"), ns(0)) << "they were done side by side";
  EXPECT_EQ(left_to_do("0"), ns(0));
}

TEST(Janus, ScaleMultipliesTheRequestQueue) {
  const auto dropped = [](const char* scale) {
    JanusBench bench(with(kOneCore, {{"janus.request_entries", "2"}, {"janus.scale", scale}}));
    for (std::uint32_t object = 1; object <= 7; ++object) {
      bench.hint(HintKind::kBothBuffered, object, kAddress, data_of(object));
    }
    bench.wait(ns(100));
    return bench.count("requests_dropped");
  };
  EXPECT_EQ(dropped("1"), 5);
  EXPECT_EQ(dropped("2"), 3);
  EXPECT_EQ(dropped("3"), 1);
  EXPECT_EQ(dropped("0"), 0);
}

TEST(Janus, ScaleMultipliesTheOperationQueue) {
  const auto dropped = [](const char* scale) {
    JanusBench bench(
        with(kOneCore, {{"janus.operation_entries", "2"}, kOneUnit, {"janus.scale", scale}}));
    bench.lines(1, kAddress, {1, 2, 3, 4, 5, 6, 7, 8});
    bench.wait(ns(100));
    return bench.count("operations_dropped");
  };
  EXPECT_EQ(dropped("1"), 5) << "the unit has one line, the queue two";
  EXPECT_EQ(dropped("2"), 2) << "of each twice as many";
  EXPECT_EQ(dropped("0"), 0);
}

TEST(Janus, ScaleMultipliesTheResultBuffer) {
  const auto dropped = [](const char* scale) {
    JanusBench bench(with(kOneCore, {{"janus.result_entries", "2"}, {"janus.scale", scale}}));
    bench.address(1, kAddress, 7 * kLineBytes);
    bench.wait(ns(2000));
    return bench.count("results_dropped");
  };
  EXPECT_EQ(dropped("1"), 5);
  EXPECT_EQ(dropped("2"), 3);
  EXPECT_EQ(dropped("0"), 0);
}

// ---- What goes unused

TEST(Janus, TooOldResultIsDiscarded) {
  JanusBench bench(Values{{"janus.most_age", "2us"}});
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(kWay + ns(1) + ns(2000));
  EXPECT_EQ(bench.write(kLine, 1), kParallel);
  EXPECT_EQ(bench.count("too_old"), 1);
}

TEST(Janus, EndOfAThreadDiscardsItsRequestsAndResults) {
  JanusBench bench;
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.hint(HintKind::kBothBuffered, 2, kAddress + 64, data_of(2));
  bench.wait(ns(1000));
  bench.hint(HintKind::kBoth, 3, kAddress + 128, data_of(3));  // still in flight
  bench.design.thread_ended(0);
  bench.start(2);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("operations"), 1);
  EXPECT_EQ(bench.count("unused"), 1);
  EXPECT_EQ(bench.write(kLine, 1), kParallel);
}

// ---- What other writes do to results

TEST(Janus, WriteOfTheLineInvalidatesResultsForItsOldCounter) {
  JanusBench bench;
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(ns(1000));
  bench.write(kLine, 7);
  EXPECT_EQ(bench.count("used_in_part"), 1) << "it takes the entry";
  bench.hint(HintKind::kBoth, 2, kAddress, data_of(1));
  bench.hint(HintKind::kBoth, 3, kAddress, data_of(2));
  bench.wait(ns(1000));
  bench.write(kLine, 1);
  EXPECT_EQ(bench.count("changed"), 1);
  EXPECT_EQ(bench.write(kLine, 2), kParallel);
}

// Leaves have four lines, nodes eight leaves, and so on; nine hashes up to the root.
TEST(Janus, OtherWriteInvalidatesTheHashesFromTheLowestSharedNode) {
  for (const auto& [apart, hashes] : std::vector<std::pair<std::uint64_t, int>>{
           {1, 9},     // the same leaf
           {4, 8},     // the same node above
           {32, 7},    //
           {4096, 5},  // 4 * 8^3 lines have the node four levels above the leaf in common
       }) {
    JanusBench bench;
    bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
    bench.wait(ns(1000));
    bench.write({kLine.number ^ apart}, 7);
    EXPECT_EQ(bench.write(kLine, 1), ns(40) * hashes) << apart;
    JanusBench ignoring(Values{{"integrity.staleness", "ignored"}});
    ignoring.hint(HintKind::kBoth, 1, kAddress, data_of(1));
    ignoring.wait(ns(1000));
    ignoring.write({kLine.number ^ apart}, 7);
    EXPECT_EQ(ignoring.write(kLine, 1), ns(0)) << apart;
  }
}

TEST(Janus, OverwrittenDuplicateIsLookedUpAgain) {
  JanusBench bench(Values{{"integrity.staleness", "ignored"}});
  const Line other{kLine.number + 64};
  bench.write(other, 1);
  bench.write_out();
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(ns(1000));
  bench.write(other, 2);  // the place that the result names has other data
  bench.write_out();
  EXPECT_EQ(bench.write(kLine, 1), kTree) << "D2 and all behind it, with the fingerprint at hand";
}

TEST(Janus, NewDuplicateIsLookedUpAgain) {
  JanusBench bench(Values{{"integrity.staleness", "ignored"}});
  const Line other{kLine.number + 64};
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(ns(1000));
  bench.write(other, 1);
  bench.write_out();
  EXPECT_EQ(bench.write(kLine, 1), kTree);
}

// ---- What is used although it doesn't hold (docs/explanation/crash.md)

Values broken(const char* defect, bool is_broken) {
  return {{"pmemsim.faults", is_broken ? std::string("backend.") + defect : ""}};
}

TEST(JanusInjectedFault, ResultsForOtherDataAreUsedAndWritten) {
  for (const bool defect : {false, true}) {
    JanusBench bench(broken("prepared_data", defect));
    bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
    bench.wait(ns(1000));
    EXPECT_EQ(bench.write(kLine, 2), defect ? ns(0) : kParallel);
    EXPECT_EQ(value_of(bench.design.backend().surviving(kLine)), defect ? 1u : 2u);
  }
}

TEST(JanusInjectedFault, ResultsForAnotherLineAreUsed) {
  for (const bool defect : {false, true}) {
    JanusBench bench(broken("prepared_line", defect));
    bench.hint(HintKind::kBoth, 1, kAddress + 64, data_of(1));
    bench.wait(ns(1000));
    EXPECT_EQ(bench.write(kLine, 1), defect ? ns(0) : kParallel);
    EXPECT_EQ(value_of(bench.design.backend().surviving(kLine)), 1u);
  }
}

TEST(JanusInjectedFault, ResultsForAnOldCounterAreUsed) {
  for (const bool defect : {false, true}) {
    JanusBench bench(broken("metadata_changed", defect));
    bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
    bench.hint(HintKind::kBoth, 2, kAddress, data_of(2));
    bench.wait(ns(1000));
    bench.write(kLine, 1);
    EXPECT_EQ(bench.write(kLine, 2), defect ? kTree : kParallel) << "the tree has changed as well";
    EXPECT_EQ(value_of(bench.design.backend().surviving(kLine)) == 2, !defect) << "of another pad";
  }
}

}  // namespace
}  // namespace pmemsim
