// LALEA's own examples, figures 2 and 3, step by step, and what each structure holds then.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "pmemsim/designs/atomicity/blocks_in_use.hpp"
#include "pmemsim/designs/atomicity/load_aware_log.hpp"
#include "pmemsim/designs/atomicity/log_reader.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "unit/redo_bench.hpp"

namespace pmemsim {
namespace {

// ---- Figure 2

Lines entries_of(const LoadAwareLog& banks, std::uint32_t bank) {
  return {banks.free_entries(bank).begin(), banks.free_entries(bank).end()};
}
// Returns the first lines of the free headers; each second line follows its first line.
Lines headers_of(const LoadAwareLog& banks, std::uint32_t bank) {
  Lines first;
  for (const HeaderPlace& place : banks.free_headers(bank)) {
    EXPECT_EQ(place.second.number, place.first.number + 1);
    first.push_back(place.first);
  }
  return first;
}

// The log alone, with in-place updates under way: two to bank 0 and one to bank 1.
class Figure2 {
 public:
  explicit Figure2(std::string_view allocation, std::string_view metadata = "collated-header",
                   LogKind kind = LogKind::kRedo)
      : configuration_(two_banks(
            {{"atomicity", "none"}, {"log.allocation", allocation}, {"log.metadata", metadata}})),
        platform(configuration_),
        log({.kind = kind,
             .cores = 1,
             .channels = 1,
             .banks = 2,
             .rings = 1,
             .header_entries = 0,
             .from_controllers = kind == LogKind::kUndo},
            configuration_.design.parameters<HardwareLogParameters>()) {
    log.connect(platform.context());
    for (const Line line : {kBank0, Line{kBank0.number + 1}, kBank1}) {
      platform.pm.write({.line = line, .data = {}, .persisted = {}, .written = {}});
    }
    EXPECT_EQ(counters(platform), (Counters{2, 1}));
  }

  // A transaction's log request, from the core until it has reached the controller.
  void request(HardwareLog::Id id, Line home, std::uint64_t value) {
    log.append(id, home, data_of(value), {},
               completion<&Figure2::entry_persisted>(*this, persisted.size()));
    persisted.emplace_back();
    const Time arrival = platform.now() + platform.core_to_controller();
    platform.queue.schedule(arrival, Phase::kCore, completion<&Figure2::reached>(*this));
    arrived_ = false;
    platform.until([this] { return arrived_; });
  }
  Lines free_entries(std::uint32_t bank) const { return entries_of(banks(), bank); }
  Lines free_headers(std::uint32_t bank) const { return headers_of(banks(), bank); }
  std::optional<Line> lr() const { return log.survivors().newest[0]; }
  // Banks begin to write when the first log request is there.
  std::vector<Time> after(const std::vector<int>& writes) const {
    std::vector<Time> times;
    for (const int count : writes)
      times.push_back(at_ns(count * 300) + platform.core_to_controller());
    return times;
  }

  // Written, or on their way.
  double header_lines() const {
    StatisticsCollector collector;
    log.statistics(collector);
    for (const Statistic& found : collector.found) {
      if (found.name == "log.headers") return found.value;
    }
    return -1;
  }
  // The FIFOs that recovery would rebuild, with the logs of these regions still needed.
  LoadAwareLog rebuilt(RegionRange needed) {
    Image image = surviving(platform.pm);
    const LogSurvivors left = log.survivors();
    return {platform.design.backend(), 2, configuration_.design.parameters<HardwareLogParameters>(),
            left.growths, blocks_in_use(read_log(left, {needed}, image))};
  }

  std::vector<Time> persisted;

 private:
  void entry_persisted(std::uint64_t number, Time now) { persisted[number] = now; }
  void reached(std::uint64_t, Time) { arrived_ = true; }
  const LoadAwareLog& banks() const {
    return dynamic_cast<const LoadAwareSpace&>(log.space()).banks();
  }

  const Configuration configuration_;
  bool arrived_ = false;

 public:
  Platform platform;
  HardwareLog log;
};

TEST(LaleaFigure2a, ConventionalLoggingQueuesUpAtOneBank) {
  Figure2 figure("sequential");
  const HardwareLog::Id id = figure.log.open(0, 1, {});
  // The log has a header and seven lines behind it, in the page of one bank, whatever operations
  // the banks have pending.
  const Counters expected[] = {{3, 1}, {4, 1}, {5, 1}};
  for (std::uint64_t number = 0; number < 3; ++number) {
    figure.request(id, {kBank1.number + 1 + number}, number);
    EXPECT_EQ(counters(figure.platform), expected[number]);
    EXPECT_TRUE(queued(figure.platform, {kLog.number + 1 + number}, WriteKind::kLog));
  }
  figure.platform.run();
  EXPECT_EQ(figure.persisted, figure.after({3, 4, 5})) << "in-place updates, then each other";
}

// A bank's block n of the first page: headers' first lines, then entries.
Lines blocks(Line page, std::uint64_t first, std::uint64_t count, std::uint64_t lines = 1) {
  Lines found;
  for (std::uint64_t n = 0; n < count; ++n) found.push_back({page.number + first + n * lines});
  return found;
}
Lines without_first(Lines lines, std::size_t count) {
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count));
  return lines;
}

TEST(LaleaFigure2a, LaleaBalancesTheBanks) {
  Figure2 figure("load-aware");
  Platform& platform = figure.platform;
  // 2c, the bank information table: 16 headers of two lines, then 16 entries a bank.
  const Line page0 = kLog, page1{kLog.number + 64};
  const Lines headers0 = blocks(page0, 0, 16, 2), headers1 = blocks(page1, 0, 16, 2);
  const Lines entries0 = blocks(page0, 32, 16), entries1 = blocks(page1, 32, 16);
  const auto expect_fifos = [&](std::size_t taken0, std::size_t taken1, std::size_t header0) {
    EXPECT_EQ(figure.free_entries(0), without_first(entries0, taken0));
    EXPECT_EQ(figure.free_entries(1), without_first(entries1, taken1));
    EXPECT_EQ(figure.free_headers(0), without_first(headers0, header0));
    EXPECT_EQ(figure.free_headers(1), headers1);
  };
  expect_fifos(0, 0, 0);

  const Line home[] = {{kBank1.number + 1}, {kBank1.number + 2}, {kBank1.number + 3}};
  const HardwareLog::Id first = figure.log.open(0, 1, {});
  // L1: bank 1 has the least to do.
  figure.request(first, home[0], 11);
  EXPECT_EQ(counters(platform), (Counters{2, 2}));
  EXPECT_TRUE(queued(platform, entries1[0], WriteKind::kLog));
  expect_fifos(0, 1, 0);
  // L2: both banks have the same number of pending operations.
  figure.request(first, home[1], 12);
  EXPECT_EQ(counters(platform), (Counters{3, 2}));
  EXPECT_TRUE(queued(platform, entries0[0], WriteKind::kLog));
  expect_fifos(1, 1, 0);
  // L3: bank 1 again.
  figure.request(first, home[2], 13);
  EXPECT_EQ(counters(platform), (Counters{3, 3}));
  EXPECT_TRUE(queued(platform, entries1[1], WriteKind::kLog));
  expect_fifos(1, 2, 0);
  EXPECT_EQ(figure.lr(), std::nullopt);
  EXPECT_TRUE(figure.log.survivors().headers.empty()) << "the header is volatile";

  // L3 is in PM two writes earlier than above. There is no header yet.
  platform.run();
  EXPECT_EQ(figure.persisted, figure.after({2, 3, 3}));
  EXPECT_EQ(in_pm(platform, entries1[0]), data_of(11));
  EXPECT_EQ(in_pm(platform, entries0[0]), data_of(12));
  EXPECT_EQ(in_pm(platform, entries1[1]), data_of(13));
  EXPECT_EQ(in_pm(platform, headers0[0]), LineData{});
  EXPECT_EQ(counters(platform), (Counters{0, 0}));

  // The transaction ends: both lines of its header go to the same bank (2b).
  figure.log.close(first, 1);
  platform.until([&] { return counters(platform) != Counters{0, 0}; });
  EXPECT_EQ(counters(platform), (Counters{2, 0}));
  expect_fifos(1, 2, 1);
  platform.run();
  const LineData header = in_pm(platform, headers0[0]);
  const LineData links = in_pm(platform, {headers0[0].number + 1});
  using log_bytes::get;
  EXPECT_EQ(get(header, 0, 8), 0b111 | std::uint64_t{1} << 24) << "three entries of region 1";
  EXPECT_EQ(get(links, 0, 8), 3 | std::uint64_t{1} << 24) << "valid_cnt";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(get(header, 8 + 6 * i, 6), home[i].number);
  // Places count from the beginning of the log, plus 1: bank 1's page follows bank 0's.
  EXPECT_EQ(get(links, 8, 6), 64 + 32 + 1u);
  EXPECT_EQ(get(links, 14, 6), 32 + 1u);
  EXPECT_EQ(get(links, 20, 6), 64 + 33 + 1u);
  EXPECT_EQ(get(links, 26, 6), 0u) << "no fourth entry";
  EXPECT_EQ(get(links, 50, 6), 0u) << "next_ptr is NULL";
  EXPECT_EQ(figure.lr(), std::nullopt);
  figure.log.link(first);
  EXPECT_EQ(figure.lr(), headers0[0]);

  // A second transaction's header is linked to the first one's. It goes to the other bank, since
  // this one has something to do.
  const HardwareLog::Id second = figure.log.open(0, 2, {});
  figure.request(second, home[0], 21);
  EXPECT_EQ(figure.free_entries(0), without_first(entries0, 2));
  platform.run();
  platform.pm.write({.line = kBank0, .data = {}, .persisted = {}, .written = {}});
  EXPECT_EQ(counters(platform), (Counters{1, 0}));
  figure.log.close(second, 2);
  platform.until([&] { return counters(platform) != Counters{1, 0}; });
  EXPECT_EQ(counters(platform), (Counters{1, 2}));
  platform.run();
  figure.log.link(second);
  EXPECT_EQ(figure.lr(), headers1[0]);
  EXPECT_EQ(get(in_pm(platform, {headers1[0].number + 1}), 50, 6), 0 + 1u) << "next_ptr";
  Image image = surviving(platform.pm);
  const std::vector<LoggedRecord> chain =
      read_log(figure.log.survivors(), {RegionRange{}}, RecoveryView(image));
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].header.region, 2u);
  EXPECT_EQ(chain[0].entries[0], entries0[1]);
  EXPECT_EQ(chain[1].header.region, 1u);
  EXPECT_EQ(chain[1].entries[2], entries1[1]);

  // The first transaction's in-place updates are done: its blocks go to the ends of the FIFOs.
  figure.log.release(first, false);
  Lines released0 = without_first(entries0, 2), released1 = without_first(entries1, 2);
  released0.push_back(entries0[0]);
  released1.insert(released1.end(), {entries1[0], entries1[1]});
  EXPECT_EQ(figure.free_entries(0), released0);
  EXPECT_EQ(figure.free_entries(1), released1);
  Lines released_headers = without_first(headers0, 1);
  released_headers.push_back(headers0[0]);
  EXPECT_EQ(figure.free_headers(0), released_headers);
  EXPECT_EQ(figure.free_headers(1), without_first(headers1, 1));
  EXPECT_EQ(figure.lr(), headers1[0]);
}

// "They can be rebuilt during the crash recovery process" (III-A).
TEST(LaleaFigure2c, RecoveryRebuildsTheFifos) {
  Figure2 figure("load-aware");
  const Lines headers0 = figure.free_headers(0), headers1 = figure.free_headers(1);
  const Lines entries0 = figure.free_entries(0), entries1 = figure.free_entries(1);
  const auto expect_free = [&](RegionRange needed, const Lines& bank0, const Lines& bank1,
                               const Lines& header0) {
    const LoadAwareLog rebuilt = figure.rebuilt(needed);
    EXPECT_EQ(entries_of(rebuilt, 0), bank0);
    EXPECT_EQ(entries_of(rebuilt, 1), bank1);
    EXPECT_EQ(headers_of(rebuilt, 0), header0);
    EXPECT_EQ(headers_of(rebuilt, 1), headers1);
  };
  const auto transaction = [&](std::uint64_t region, std::uint64_t lines) {
    const HardwareLog::Id id = figure.log.open(0, region, {});
    for (std::uint64_t i = 0; i < lines; ++i) figure.request(id, {kBank1.number + 1 + i}, i);
    figure.log.close(id, region);
    figure.platform.run();
    return id;
  };

  // Nothing leads to a transaction's header until it has committed.
  const HardwareLog::Id first = transaction(1, 3);
  expect_free({}, entries0, entries1, headers0);
  figure.log.link(first);
  expect_free({}, without_first(entries0, 1), without_first(entries1, 2),
              without_first(headers0, 1));
  // The second one has one entry more in bank 0. When the first one is in place, only that counts.
  figure.log.link(transaction(2, 1));
  expect_free({}, without_first(entries0, 2), without_first(entries1, 2),
              without_first(headers0, 2));
  Lines but_second = entries0, but_its_header = headers0;
  but_second.erase(but_second.begin() + 1);
  but_its_header.erase(but_its_header.begin() + 1);
  expect_free({.first = 2}, but_second, entries1, but_its_header);
  // All entries and headers are free after recovery.
  expect_free({.first = 3}, entries0, entries1, headers0);
  // Recovery rebuilds also the entries that the log regions have grown by.
  transaction(3, 32);
  EXPECT_EQ(figure.rebuilt({.first = 4}).free_entries(0).size(), 2 * entries0.size());
}

// The ADR buffer of an undo log is full for a while. No header enters it while an earlier header of
// its chain is still being written.
TEST(LaleaWithBlom, ChainNeverSkipsAHeaderThatIsNotPersistent) {
  Figure2 figure("load-aware", "adr-buffered", LogKind::kUndo);
  Platform& platform = figure.platform;
  platform.pm.drain();
  platform.run();
  while (platform.pm.reserve(0)) {
  }
  const HardwareLog::Id id = figure.log.open(0, 1, {});
  const auto record = [&] {
    for (std::uint64_t i = 0; i < kRecordEntries; ++i) figure.request(id, {kBank1.number + i}, i);
  };
  record();
  platform.run();
  const std::optional<Line> first = figure.lr();
  ASSERT_TRUE(first);
  record();
  platform.until([&] { return figure.header_lines() == 2 * 2; });
  platform.pm.release(0);
  platform.pm.release(0);
  figure.request(id, kBank1, 0);
  EXPECT_EQ(figure.lr(), first) << "the second record's header is in flight";
  EXPECT_TRUE(figure.log.survivors().headers.empty());
  platform.run();
  EXPECT_NE(figure.lr(), first);
}

// ---- Figure 3

const Line kA = kBank1, kB{kBank1.number + 1};  // not in the bank of the log

// Expects the states that both variants share up to t2: the entries of A and B, one after the other
// in the log's bank.
void expect_entries(RedoBench& figure, Time t1) {
  Platform& platform = figure.platform;
  figure.begin(1, {kA, kB});
  EXPECT_EQ(counters(platform), (Counters{0, 0})) << "the entries are in the log buffer";
  figure.end(1);
  platform.until([&] { return counters(platform) == Counters{2, 0}; });
  EXPECT_EQ(platform.now(), t1 + platform.core_to_controller());
  platform.until([&] { return counters(platform) == Counters{1, 0}; });
  EXPECT_EQ(platform.now(), t1 + platform.core_to_controller() + ns(300));
  EXPECT_EQ(in_pm(platform, {kLog.number + 1}), data_of(1));
  EXPECT_EQ(in_pm(platform, {kLog.number + 2}), LineData{});
  EXPECT_EQ(figure.recovered(kA), 0u);
}

TEST(BlomFigure3, ConventionalLoggingWritesTheHeaderAfterItsEntries) {
  RedoBench figure;
  Platform& platform = figure.platform;
  expect_entries(figure, {});

  // t2: the entries are persistent. Only now the header starts, and the core waits on.
  const Time t2 = at_ns(2 * 300) + platform.core_to_controller();
  platform.until([&] { return platform.now() >= t2 && counters(platform) == Counters{1, 0}; });
  EXPECT_EQ(platform.now(), t2);
  EXPECT_EQ(in_pm(platform, {kLog.number + 2}), data_of(1));
  EXPECT_EQ(in_pm(platform, kLog), LineData{});
  EXPECT_TRUE(figure.left().log.headers.empty());
  EXPECT_EQ(figure.adr_entries(), 0u);
  EXPECT_EQ(figure.left().committed[0], 0u);
  EXPECT_EQ(figure.recovered(kA), 0u);

  // t3: the header is in PM; TX2 may begin when the core is notified of it.
  const Time t3 = figure.commit() - platform.caches.controller_to_core();
  EXPECT_EQ(t3, t2 + ns(300));
  const LineData header = in_pm(platform, kLog);
  EXPECT_EQ(log_bytes::get(header, 0, 8), 0b11 | std::uint64_t{1} << 24);
  EXPECT_EQ(log_bytes::get(header, 8, 6), kA.number);
  EXPECT_EQ(log_bytes::get(header, 14, 6), kB.number);
  EXPECT_EQ(log_bytes::get(header, 50, 6), 1u) << "the first region to commit";
  EXPECT_EQ(figure.left().committed[0], 1u);
  EXPECT_EQ(figure.left().in_place[0], 0u);
  EXPECT_EQ(in_pm(platform, kA), LineData{}) << "the in-place updates haven't begun";
  EXPECT_EQ(figure.recovered(kA), 1u);
  EXPECT_EQ(figure.recovered(kB), 1u);
  platform.run();
  EXPECT_EQ(figure.left().in_place[0], 1u);
  EXPECT_EQ(figure.recovered(kA), 1u);
}

TEST(BlomFigure3, BlomKeepsTheHeaderUntilTheInPlaceUpdatesAreDone) {
  RedoBench figure{{"log.metadata", "adr-buffered"}};
  Platform& platform = figure.platform;
  expect_entries(figure, {});

  // The header is in the ADR buffer, and learns what has persisted.
  EXPECT_EQ(figure.adr_entries(), 1u);
  const auto header = [&] { return LogHeader::of(figure.left().log.headers.at(0).header); };
  EXPECT_EQ(figure.left().log.headers.at(0).place, kLog);
  platform.until([&] { return header().valid == 0b01; });
  EXPECT_EQ(platform.now(), at_ns(300) + platform.core_to_controller());

  // t2: the entries are persistent, and no more is required: TX1 commits, TX2 may begin.
  const Time t2 = figure.commit() - platform.caches.controller_to_core();
  EXPECT_EQ(t2, at_ns(2 * 300) + platform.core_to_controller());
  EXPECT_EQ(counters(platform), (Counters{0, 0})) << "no header in flight";
  EXPECT_EQ(in_pm(platform, kLog), LineData{});
  ASSERT_EQ(figure.left().log.headers.size(), 1u);
  EXPECT_EQ(header().valid, 0b11);
  EXPECT_EQ(header().region, 1u);
  EXPECT_EQ(header().homes[0], kA);
  EXPECT_EQ(header().homes[1], kB);
  EXPECT_EQ(header().commit_order, 1u);
  EXPECT_EQ(figure.left().committed[0], 1u);
  EXPECT_EQ(figure.recovered(kA), 1u) << "from the header in the ADR buffer";

  // TX2's entries follow while TX1's data go in place. Headers of both are in the ADR buffer.
  figure.begin(2, {kA});
  figure.end(2);
  platform.until([&] { return figure.left().log.headers.size() == 2; });
  EXPECT_EQ(figure.left().in_place[0], 0u);

  // TX1's in-place updates are persistent: its header goes, and was never written.
  platform.until([&] { return figure.left().in_place[0] == 1; });
  ASSERT_EQ(figure.left().log.headers.size(), 1u);
  EXPECT_EQ(header().region, 2u);
  EXPECT_EQ(figure.recovered(kA), 1u);
  EXPECT_EQ(figure.recovered(kB), 1u);
  figure.commit();
  EXPECT_EQ(figure.recovered(kA), 2u);
  platform.until([&] { return figure.left().in_place[0] == 2; });
  EXPECT_TRUE(figure.left().log.headers.empty());
  platform.run();
  platform.pm.drain();
  platform.run();
  EXPECT_EQ(figure.adr_entries(), 0u);
  EXPECT_EQ(in_pm(platform, kLog), LineData{});
  EXPECT_EQ(figure.statistic("log.headers"), 0);
  EXPECT_EQ(value_of(in_pm(platform, kA)), 2u);
}

// "When the ADR buffer is used up, the memory controller writes the buffered metadata block of a
// selected transaction to PM" (III-B): three headers, room for two, and data that stay out of PM.
class BlomSpill : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Allocations, BlomSpill, testing::Values("sequential", "load-aware"),
                         [](const auto& instance) {
                           return std::string(instance.param == "sequential" ? "Sequential"
                                                                             : "LoadAware");
                         });

TEST_P(BlomSpill, WritesTheOldestHeaderWhenTheBufferIsUsedUp) {
  const bool load_aware = GetParam() == "load-aware";
  RedoBench figure{{"log.metadata", "adr-buffered"},
                   {"log.allocation", GetParam()},
                   {"log.free_entries", "1024"},
                   {"hw_redo.in_place", "lazy"},
                   {"pm.wpq_entries", load_aware ? "5" : "3"}};
  Platform& platform = figure.platform;
  for (const std::uint64_t region : {1, 2}) {
    figure.begin(region, {{kA.number + region}});
    figure.end(region);
    figure.commit();
  }
  platform.run();
  EXPECT_EQ(figure.adr_entries(), load_aware ? 4u : 2u);
  EXPECT_EQ(figure.statistic("log.headers"), 0);
  const Line oldest = figure.left().log.headers[0].place;
  EXPECT_EQ(LogHeader::of(figure.left().log.headers[0].header).region, 1u);

  // The oldest header is in flight to PM as soon as the third transaction needs a header.
  figure.begin(3, {{kA.number + 3}, {kA.number + 4}, {kA.number + 5}, {kA.number + 6}});
  figure.end(3);
  EXPECT_EQ(figure.statistic("log.spilled_headers"), 1);
  EXPECT_EQ(figure.left().log.headers.size(), 2u) << "until the header is in PM";
  EXPECT_EQ(figure.recovered({kA.number + 1}), 1u);
  platform.until([&] { return figure.left().log.headers.size() == 1; });
  EXPECT_EQ(LogHeader::of(in_pm(platform, oldest)).region, 1u);
  EXPECT_EQ(LogHeader::of(in_pm(platform, oldest)).valid, 1);

  // The third header has its entries when the third transaction's log entries are persistent.
  figure.commit();
  platform.run();
  EXPECT_EQ(figure.adr_entries(), load_aware ? 4u : 2u);
  EXPECT_EQ(figure.statistic("log.headers"), load_aware ? 2 : 1) << "no other header was written";
  for (const std::uint64_t region : {1, 2, 3}) {
    EXPECT_EQ(figure.recovered({kA.number + region}), region);
  }
}

}  // namespace
}  // namespace pmemsim
