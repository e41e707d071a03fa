// Janus's request queue, decoder, operation queue and intermediate result buffer (4.3, 4.4, 4.6),
// on requests written by hand, and what other writes do to results (4.3.1).
#include "pmemsim/precompute/janus.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "memory_bench.hpp"
#include "platform.hpp"

namespace pmemsim {
namespace {

using trace::HintKind;

constexpr Picoseconds kWay = ns(15), kTree = ns(360), kParallel = ns(681);
constexpr std::uint64_t kAddress = kPmBase + 4096;
constexpr Line kLine = Line::of(kAddress);

using Values = std::vector<std::pair<std::string, std::string>>;

std::vector<Setting> janus_settings(const Values& more) {
  Values all{
      {"core.count", "2"},         {"backend", "deduplication,encryption,integrity"},
      {"precompute", "janus"},     {"pm.wpq_entries", "64"},
      {"pm.front_latency", "0ns"}, {"janus.decode_latency", "1ns"},
  };
  all.insert(all.end(), more.begin(), more.end());
  std::vector<Setting> settings;
  for (const auto& [key, value] : all) settings.push_back({key, value, "test"});
  return settings;
}

struct JanusBench : Platform {
  explicit JanusBench(const Values& more = {}) : Platform(configure(janus_settings(more))) {
    // What the tests' writes look up is cached.
    for (const std::uint64_t line : {0, 1, 2, 3, 64, 4096})
      write({kLine.number + line}, 900 + line);
    for (std::uint64_t value = 1; value < 20; ++value) {
      hint(HintKind::kData, 1000 + static_cast<std::uint32_t>(value), 0, data_of(value));
    }
    run();
    design.thread_ended(0);
    before = statistics();
  }

  void hint(HintKind kind, std::uint32_t object, std::uint64_t address,
            std::span<const std::byte> data, std::uint32_t bytes = kLineBytes, CoreId core = 0) {
    design.hint(core, {kind, object, address, bytes, data}, queue.now());
  }
  void address(std::uint32_t object, std::uint64_t where, std::uint32_t bytes = kLineBytes) {
    hint(HintKind::kAddress, object, where, {}, bytes);
  }
  void start(std::uint32_t object) { hint(HintKind::kStartBuffered, object, 0, {}, 0); }

  Picoseconds write(Line line, std::uint64_t value) { return write(line, data_of(value)); }
  Picoseconds write(Line line, const LineData& data) {
    const Picoseconds sent = queue.now();
    persisted = Picoseconds{-1};
    design.pm().write({.line = line,
                       .data = data,
                       .persisted = completion<&JanusBench::note>(*this),
                       .written = {}});
    until([&] { return persisted != Picoseconds{-1}; });
    return persisted - sent;
  }
  // Until all is on the device: only there are duplicates found.
  void write_out() {
    run();
    pm.drain();
    run();
  }
  void wait(Picoseconds time) {
    bool reached = false;
    queue.schedule(
        queue.now() + time, Phase::kCore,
        {[](void* flag, std::uint64_t, Picoseconds) { *static_cast<bool*>(flag) = true; }, &reached,
         0});
    until([&] { return reached; });
  }
  std::map<std::string, double> statistics() const {
    StatisticsCollector collector;
    design.statistics(collector);
    std::map<std::string, double> found;
    for (const Statistic& each : collector.found) found[each.name] = each.value;
    return found;
  }
  // Since the test began.
  double count(const std::string& name) const {
    const auto found = statistics();
    EXPECT_TRUE(found.contains("janus." + name)) << name;
    return found.at("janus." + name) - before.at("janus." + name);
  }
  void note(std::uint64_t, Picoseconds when) { persisted = when; }

  Picoseconds persisted{};
  std::map<std::string, double> before;
};

// ---- What is announced

TEST(Janus, AnnouncedInTimeAWriteHasNothingLeftToDo) {
  JanusBench bench;
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(kWay + ns(1) + kParallel);
  EXPECT_EQ(bench.write(kLine, 1), ns(0));
  EXPECT_EQ(bench.count("used"), 1);
  EXPECT_EQ(bench.count("used_late"), 0);
}

TEST(Janus, AnnouncedLateItSavesWhatIsDone) {
  JanusBench bench;
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(kWay + ns(1) + ns(100));
  EXPECT_EQ(bench.write(kLine, 1), kParallel - ns(100));
  EXPECT_EQ(bench.count("used_late"), 1);
}

TEST(Janus, AValueIsDataOfEightBytes) {
  JanusBench bench;
  const LineData before = bench.pm_space.newest().read(kLine);
  const LineData five = data_of(5);
  bench.hint(HintKind::kValue, 1, kAddress, std::span(five).first(8), 8);
  bench.wait(ns(1000));
  LineData written = before;
  take_bytes(written, five, bytes_from(0, 8));
  EXPECT_EQ(bench.write(kLine, written), ns(0)) << "the other bytes are as they were then";
}

TEST(Janus, AddressesAndDataOfAnObjectMeetLineByLine) {  // rule 6
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

TEST(Janus, ObjectsOfTwoThreadsAreTwo) {
  JanusBench bench;
  bench.hint(HintKind::kData, 1, 0, data_of(1), kLineBytes, 0);
  bench.hint(HintKind::kAddress, 1, kAddress, {}, kLineBytes, 1);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.write(kLine, 1), kParallel);
  EXPECT_EQ(bench.count("used_in_part"), 1);
}

// ---- The request queue

TEST(Janus, BufferedRequestsWaitAndThoseOfOneLineBecomeOne) {  // Figure 8b
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

TEST(Janus, BufferedRequestsOfLinesApartStayTwo) {
  JanusBench bench;
  bench.hint(HintKind::kAddressBuffered, 1, kAddress, {});
  bench.hint(HintKind::kAddressBuffered, 1, kAddress + 64, {});
  bench.hint(HintKind::kAddressBuffered, 1, kAddress + 3 * 64, {});
  bench.hint(HintKind::kAddressBuffered, 2, kAddress, {});
  bench.wait(ns(100));
  EXPECT_EQ(bench.count("requests_merged"), 1);
}

TEST(Janus, AFullRequestQueueLosesItsOldestBufferedRequest) {
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

TEST(Janus, AFullRequestQueueOfImmediateOnesDropsTheNewOne) {
  JanusBench bench(Values{{"janus.request_entries", "1"}, {"janus.decode_latency", "100ns"}});
  for (std::uint32_t object = 1; object <= 3; ++object) bench.address(object, kAddress);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("requests_dropped"), 1);
  EXPECT_EQ(bench.count("operations"), 2);
}

// ---- The operation queue and the result buffer

TEST(Janus, AFullOperationQueueDropsNewOnes) {
  JanusBench bench(Values{{"janus.operation_entries", "1"}, {"backend.units_per_core", "1"}});
  bench.hint(HintKind::kBoth, 1, kAddress, {}, 6 * kLineBytes);  // addresses alone
  std::array<std::byte, 6 * kLineBytes> data{};
  for (std::uint64_t i = 0; i < 6; ++i) std::ranges::copy(data_of(10 + i), data.begin() + i * 64);
  bench.hint(HintKind::kBoth, 2, kAddress, data, 6 * kLineBytes);
  bench.wait(ns(100));
  EXPECT_EQ(bench.count("operations"), 12);
  EXPECT_GE(bench.count("operations_dropped"), 2) << "two units work, two lines wait";
}

TEST(Janus, AFullResultBufferDropsNewOnes) {
  JanusBench bench(Values{{"janus.result_entries", "1"}});
  bench.address(1, kAddress, 3 * kLineBytes);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("results_dropped"), 1);
  JanusBench scaled(Values{{"janus.result_entries", "1"}, {"janus.scale", "2"}});
  scaled.address(1, kAddress, 3 * kLineBytes);
  scaled.wait(ns(1000));
  EXPECT_EQ(scaled.count("results_dropped"), 0);
  JanusBench unlimited(Values{{"janus.result_entries", "1"}, {"janus.scale", "0"}});
  unlimited.address(1, kAddress, 300 * kLineBytes);
  unlimited.wait(ns(100'000));
  EXPECT_EQ(unlimited.count("results_dropped"), 0);
}

TEST(Janus, ResultsHaveALifetime) {
  JanusBench bench(Values{{"janus.most_age", "2us"}});
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(kWay + ns(1) + ns(2000));
  EXPECT_EQ(bench.write(kLine, 1), kParallel);
  EXPECT_EQ(bench.count("too_old"), 1);
}

TEST(Janus, AThreadThatEndsTakesAllAlong) {
  JanusBench bench;
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.hint(HintKind::kBothBuffered, 2, kAddress + 64, data_of(2));
  bench.wait(ns(1000));
  bench.hint(HintKind::kBoth, 3, kAddress + 128, data_of(3));  // still on its way
  bench.design.thread_ended(0);
  bench.start(2);
  bench.wait(ns(1000));
  EXPECT_EQ(bench.count("operations"), 1);
  EXPECT_EQ(bench.count("unused"), 1);
  EXPECT_EQ(bench.write(kLine, 1), kParallel);
}

// ---- What other writes do to results

TEST(Janus, AWriteOfTheLineChangesItsCounter) {
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
TEST(Janus, OtherWritesCostTheHashesFromTheLowestSharedNodeOn) {
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

TEST(Janus, ADuplicateThatIsGoneIsLookedUpAnew) {
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

TEST(Janus, ADuplicateThatHasComeIsLookedUpAnew) {
  JanusBench bench(Values{{"integrity.staleness", "ignored"}});
  const Line other{kLine.number + 64};
  bench.hint(HintKind::kBoth, 1, kAddress, data_of(1));
  bench.wait(ns(1000));
  bench.write(other, 1);
  bench.write_out();
  EXPECT_EQ(bench.write(kLine, 1), kTree);
}

}  // namespace
}  // namespace pmemsim
