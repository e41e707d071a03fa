// The hardware redo log: its writes and their times, and recovery from a crash at every change of
// the persistent state.
#include <gtest/gtest.h>

#include "long_tests.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "shared_regions.hpp"
#include "unit/redo_bench.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::TraceBuilder;

struct RedoVariant {
  LogPolicies policies;
  std::string_view in_place, header_entries, commit_after = "log";
};
void PrintTo(const RedoVariant& variant, std::ostream* out) {
  PrintTo(variant.policies, out);
  *out << ", " << variant.in_place << ", " << variant.header_entries
       << " header entries, commit after " << variant.commit_after;
}
std::vector<RedoVariant> redo_variants() {
  std::vector<RedoVariant> all;
  for (const LogPolicies& policies : kLogPolicies) {
    for (const std::string_view in_place : {"eager", "lazy"}) {
      for (const std::string_view header_entries : {"0", "1", "128"}) {
        all.push_back({policies, in_place, header_entries});
      }
      all.push_back({policies, in_place, "0", "dram-cache"});
    }
  }
  return all;
}

// The long form has two seeds instead of one.
class HwRedoCrash : public testing::TestWithParam<std::tuple<int, RedoVariant>> {};
INSTANTIATE_TEST_SUITE_P(Seeds, HwRedoCrash,
                         testing::Combine(seeds(0, 1, 2), testing::ValuesIn(redo_variants())));

TEST_P(HwRedoCrash, LeavesWholeRegionsAtEveryPoint) {
  const auto& [seed, variant] = GetParam();
  Regions program(static_cast<std::uint32_t>(seed), 30, 24, 40);
  expect_whole_regions<HwRedo>(program,
                               crash_configuration({{"atomicity", "hw-redo"},
                                                    {"log.allocation", variant.policies.allocation},
                                                    {"log.metadata", variant.policies.metadata},
                                                    {"log.header_entries", variant.header_entries},
                                                    {"hw_redo.in_place", variant.in_place},
                                                    {"hw_redo.commit_after", variant.commit_after},
                                                    {"hw_redo.log_buffer_entries", "2"}}),
                               [](const HwRedo::Survivors& survivors, Image& image) {
                                 recover_redo_log(survivors, image);
                                 return survivors.committed[0];
                               },
                               {.crashes = 200, .undone = 20});
}

// Threads that share lines under locks, which are held until after the commit; PM so slow that
// many regions have committed, but aren't in place.
SharedRun crash_redo(const SharedRegions::Options& options, const RedoVariant& variant,
                     std::string_view log_queue, std::string_view commit_order = "global") {
  return crash_shared(options, crash_configuration({{"core.count", "4"},
                                                    {"atomicity", "hw-redo"},
                                                    {"pm.device", "fixed"},
                                                    {"pm.write_latency", "3us"},
                                                    {"pm.log_queue_entries", log_queue},
                                                    {"log.allocation", variant.policies.allocation},
                                                    {"log.metadata", variant.policies.metadata},
                                                    {"log.header_entries", variant.header_entries},
                                                    {"hw_redo.in_place", variant.in_place},
                                                    {"hw_redo.commit_after", variant.commit_after},
                                                    {"hw_redo.log_buffer_entries", "2"},
                                                    {"hw_redo.commit_order", commit_order}},
                                                   "2"));
}

class HwRedoSharedCrash : public testing::TestWithParam<std::tuple<std::uint32_t, RedoVariant>> {};
INSTANTIATE_TEST_SUITE_P(ThreadsAndVariants, HwRedoSharedCrash,
                         testing::Combine(testing::Range(2u, 5u),
                                          testing::ValuesIn(redo_variants())));

TEST_P(HwRedoSharedCrash, LeavesAClosedSetOfWholeRegionsAtEveryPoint) {
  const auto& [threads, variant] = GetParam();
  const SharedRun run = crash_redo({.seed = threads, .threads = threads, .regions = 40}, variant,
                                   threads % 2 == 0 ? "0" : "2");
  EXPECT_EQ(run.problem, "");
  EXPECT_GT(run.crashes, 200);
  EXPECT_GT(run.undone, 20);
}

// LALEA (III-A) follows each core's chain alone: a line that two cores' regions have committed gets
// the older contents back if the wrong chain comes last.
TEST(HwRedo, WithoutAnOrderOfCommitsRecoveryRestoresOldData) {
  for (const std::string_view in_place : {"eager", "lazy"}) {
    const auto problem = [&](std::string_view commit_order) {
      std::string found;
      for (std::uint32_t seed = 0; seed < 12 && found.empty(); ++seed) {
        found = crash_redo({.seed = seed, .threads = 2, .regions = 40, .lines_per_lock = 2},
                           {{"load-aware", "collated-header"}, in_place, "0"}, "8", commit_order)
                    .problem;
      }
      return found;
    };
    EXPECT_NE(problem("per-core"), "") << in_place;
    EXPECT_EQ(problem("global"), "") << in_place;
  }
}

// One region that writes two lines, on a PM whose writes count when written and take 300 ns.
RunResult two_lines(std::string_view allocation, std::string_view metadata) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase, 1);
  builder.store(store, kPmBase + 8, 2);
  builder.store(store, kPmBase + 64, 3);
  builder.mark(MarkKind::kRegionEnd, 1);
  return run_trace(builder, settings({{"ordering", "x86"},
                                      {"atomicity", "hw-redo"},
                                      {"log.allocation", allocation},
                                      {"log.metadata", metadata},
                                      {"log.header_entries", "0"},
                                      {"pm.device", "fixed"},
                                      {"pm.write_latency", "300ns"},
                                      {"pm.banks_per_rank", "8"},
                                      {"pm.log_queue_entries", "32"}}));
}

// LALEA, III-B, on a whole machine.
TEST(HwRedo, CommitDoesNotWaitForAHeaderInTheAdrBuffer) {
  const RunResult conventional = two_lines("load-aware", "collated-header");
  EXPECT_EQ(statistic(conventional, "log.entries"), 2);
  EXPECT_EQ(statistic(conventional, "log.headers"), 2) << "the two lines of one header";
  EXPECT_EQ(statistic(conventional, "log.buffered_headers"), 0);
  EXPECT_EQ(statistic(conventional, "pm.log_bytes_written"), 256);

  const RunResult blom = two_lines("load-aware", "adr-buffered");
  EXPECT_EQ(statistic(blom, "log.entries"), 2);
  EXPECT_EQ(statistic(blom, "log.headers"), 0);
  EXPECT_EQ(statistic(blom, "log.buffered_headers"), 1);

  // Both entries go to idle banks at once; the header's two lines to one bank, one after the other.
  const double saved = statistic(conventional, "hw_redo.commit_latency_ns") -
                       statistic(blom, "hw_redo.commit_latency_ns");
  EXPECT_NEAR(saved, 2 * 300, 30);

  // Without load-aware allocation the entries and the header, of one line, share a bank.
  const double in_one_bank =
      statistic(two_lines("sequential", "collated-header"), "hw_redo.commit_latency_ns") -
      statistic(two_lines("sequential", "adr-buffered"), "hw_redo.commit_latency_ns");
  EXPECT_NEAR(in_one_bank, 300, 30);
}

// Rule 6: four regions of one line write four entries and no header, and each survives a crash from
// its commit on. A queue of four headers keeps one entry free, so that the fourth region writes the
// first one's header.
TEST(HwRedo, KeptHeadersAreWrittenOnlyWhenTheQueueIsFull) {
  for (const auto& [entries, written] :
       {std::pair{"128", 0.0}, {"5", 0.0}, {"4", 1.0}, {"2", 3.0}}) {
    RedoBench bench{{"hw_redo.in_place", "lazy"},
                    {"log.metadata", "queue-buffered"},
                    {"log.header_entries", entries}};
    for (const std::uint64_t region : {1, 2, 3, 4}) {
      const Line line{kBank1.number + region};
      bench.begin(region, {line});
      bench.end(region);
      EXPECT_EQ(bench.recovered(line), 0u) << "before its commit";
      bench.commit();
      for (std::uint64_t each = 1; each <= region; ++each) {
        EXPECT_EQ(bench.recovered({kBank1.number + each}), each) << entries << " entries";
      }
    }
    bench.platform.run();
    EXPECT_EQ(bench.statistic("log.entries"), 4);
    EXPECT_EQ(bench.statistic("log.headers"), written) << entries << " entries";
    EXPECT_EQ(bench.statistic("log.spilled_headers"), written) << entries << " entries";
    bench.redo.drain();
    bench.platform.run();
    EXPECT_EQ(bench.statistic("log.headers"), written) << "released logs write none";
    EXPECT_EQ(bench.left().in_place[0], 4u);
    EXPECT_TRUE(bench.left().log.headers.empty());
  }
}

// Rule 1.
TEST(HwRedo, FullLogBufferSendsItsOldestLineDuringTheRegion) {
  RedoBench bench{{"hw_redo.log_buffer_entries", "8"}};
  Lines lines;
  for (std::uint64_t i = 0; i < 10; ++i) lines.push_back({kBank1.number + i});
  bench.begin(1, {lines.begin(), lines.begin() + 8});
  EXPECT_EQ(bench.statistic("log.entries"), 0);
  bench.begin(1, {lines[7], lines[0]});
  EXPECT_EQ(bench.statistic("log.entries"), 0) << "they stand there already";
  bench.begin(1, {lines[8]});
  EXPECT_EQ(bench.statistic("log.entries"), 1);
  bench.begin(1, {lines[9]});
  EXPECT_EQ(bench.statistic("log.entries"), 2);
  bench.platform.run();
  EXPECT_EQ(bench.statistic("log.persistent_entries"), 2) << "no core waits for the entries";
  EXPECT_EQ(in_pm(bench.platform, {kLog.number + 1}), data_of(1));
  EXPECT_EQ(bench.left().committed[0], 0u);
  EXPECT_EQ(bench.recovered(lines[0]), 0u);
  bench.end(1);
  bench.commit();
  EXPECT_EQ(bench.statistic("log.entries"), 10);
  for (const Line line : lines) EXPECT_EQ(bench.recovered(line), 1u);
}

// Rule 2, and 4 until the line is in place.
TEST(HwRedo, LineNotYetWrittenInPlaceIsReadFromTheDramCache) {
  RedoBench bench{{"hw_redo.in_place", "lazy"}};
  Platform& platform = bench.platform;
  const Line line = kBank1, other{kBank1.number + 1};
  int answers = 0;
  const Completion answered{[](void* count, std::uint64_t, Time) { ++*static_cast<int*>(count); },
                            &answers, 0};
  const auto fetch = [&] {
    const bool taken = bench.redo.fetch(0, line, platform.now(), answered);
    platform.run();
    return taken;
  };

  bench.begin(1, {line});
  EXPECT_FALSE(fetch()) << "the line was not evicted";
  EXPECT_EQ(bench.redo.evicted(line, data_of(1), platform.now()), Eviction::kTaken);
  EXPECT_EQ(bench.redo.evicted(other, data_of(1), platform.now()), Eviction::kWrite);
  EXPECT_TRUE(fetch()) << "uncommitted";
  bench.end(1);
  bench.commit();
  platform.run();
  EXPECT_EQ(in_pm(platform, line), LineData{});
  EXPECT_TRUE(fetch()) << "committed";
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(platform.dram.statistics().reads, 2u);
  EXPECT_EQ(platform.pm.statistics().reads, 0u);

  bench.redo.drain();
  platform.run();
  EXPECT_FALSE(fetch()) << "in place";
  EXPECT_EQ(bench.redo.evicted(line, data_of(1), platform.now()), Eviction::kWrite);
}

// Rule 3: all lines start when the log is persistent. The commit completes when the core is
// notified of the lines.
TEST(HwRedo, RegionCommitsWhenItsLinesAreInTheDramCacheIfConfigured) {
  const Lines lines{kBank1, {kBank1.number + 1}};
  const auto committed = [&](std::string_view after) {
    RedoBench bench{{"hw_redo.commit_after", after},
                    {"hw_redo.in_place", "lazy"},
                    {"dram.front_latency", "0ns"}};
    bench.begin(1, lines);
    bench.end(1);
    const Picoseconds way =
        bench.platform.core_to_controller() + bench.platform.caches.controller_to_core();
    const Time when = bench.commit();
    EXPECT_EQ(bench.left().committed[0], 1u);
    bench.platform.run();
    EXPECT_EQ(bench.platform.dram.statistics().all_writes(), 2u) << "either way";
    return std::pair{when, way};
  };
  const auto [log, way] = committed("log");
  EXPECT_EQ(committed("dram-cache").first - log, way);

  RedoBench bench{{"hw_redo.commit_after", "dram-cache"}};
  bench.begin(1, lines);
  bench.end(1);
  bench.platform.until([&] { return bench.platform.now() > log; });
  EXPECT_EQ(bench.left().committed[0], 0u) << "the log alone is persistent";
  EXPECT_EQ(bench.recovered(lines[0]), 0u);
}

// Rule 2, whether or not the line is in the DRAM cache already.
TEST(HwRedo, FlushedUncommittedLineGoesToTheDramCache) {
  RedoBench bench;
  bench.begin(1, {kBank1});
  for (int flush = 0; flush < 2; ++flush) {
    EXPECT_EQ(bench.redo.flushed(kBank1), Eviction::kTaken);
  }
  bench.end(1);
  bench.commit();
  EXPECT_EQ(bench.redo.flushed(kBank1), Eviction::kWrite);
}

// A flush of the program's own, outside regions.
TEST(HwRedo, FlushWaitsForTheLastRegionThatLoggedTheLine) {
  RedoBench bench{{"hw_redo.in_place", "lazy"}, {"pm.persistence", "written"}};
  const Line line = kBank1, before{kBank1.number + 1};
  int resumed = 0;
  const auto flush = [&](Line of) {
    return bench.redo.flush(
        0, of, bench.platform.now(),
        {[](void* count, std::uint64_t, Time) { ++*static_cast<int*>(count); }, &resumed, 0});
  };
  for (const Lines& lines : {Lines{before, line}, Lines{line}}) {
    const std::uint64_t region = bench.left().committed[0] + 1;
    bench.begin(region, lines);
    bench.end(region);
    bench.commit();
  }
  EXPECT_FALSE(flush(before)) << "which the first region has to write in place now";
  bench.platform.until([&] { return resumed == 1; });
  EXPECT_EQ(bench.left().in_place[0], 1u);
  EXPECT_FALSE(flush(line)) << "the second region's log is still there";
  bench.platform.until([&] { return resumed == 2; });
  EXPECT_EQ(bench.left().in_place[0], 2u);
}

// A flush waits for a region that is about to commit and whose log has the line. It doesn't wait
// for a region in progress, which may in turn wait for the flushing core.
TEST(HwRedo, FlushWaitsForAnEndedRegionOfAnotherCore) {
  RedoBench bench{{"core.count", "2"}};
  const auto flush = [&] {
    bool resumed = false;
    const bool goes = bench.redo.flush(
        1, kBank1, bench.platform.now(),
        {[](void* flag, std::uint64_t, Time) { *static_cast<bool*>(flag) = true; }, &resumed, 0});
    if (!goes) bench.platform.until([&] { return resumed; });
    return goes;
  };
  bench.begin(1, {kBank1});
  EXPECT_TRUE(flush());
  bench.end(1);
  EXPECT_FALSE(flush());
  EXPECT_EQ(bench.left().in_place[0], 1u);
  EXPECT_TRUE(flush());
}

// Recovery redoes the regions after the last released one. The older region's line waits for its
// controller, whose queue is full, while the newer region's line is in place already.
TEST(HwRedo, RegionIsReleasedAfterTheOlderRegionsOfItsCore) {
  RedoBench bench({{"hw_redo.in_place", "eager"},
                   {"hw_redo.commit_order", "per-core"},
                   {"pm.controllers", "2"},
                   {"pm.interleaving", "line"},
                   {"pm.wpq_entries", "2"}});
  Platform& platform = bench.platform;
  const Line slow = kBank0, fast{kBank0.number + 1};
  ASSERT_NE(platform.pm.channel_of(slow), platform.pm.channel_of(fast));
  for (std::uint64_t i = 1; i <= 64; ++i) {
    platform.design.backend().write(
        {.line = {slow.number + 2 * i}, .data = data_of(9), .persisted = {}, .written = {}});
  }
  for (const std::uint64_t region : {1, 2}) {
    bench.begin(region, {region == 1 ? slow : fast});
    bench.end(region);
    bench.commit();
  }
  const Time soon = platform.now() + ns(200);
  platform.until([&] { return platform.now() >= soon; });
  EXPECT_EQ(value_of(platform.pm.surviving(fast)), 2u);
  EXPECT_EQ(value_of(platform.pm.surviving(slow)), 0u);
  EXPECT_EQ(bench.left().in_place[0], 0u);
  EXPECT_EQ(bench.recovered(slow), 1u);
  platform.run();
  EXPECT_EQ(bench.left().in_place[0], 2u);
}

// hardware_log.hpp: until it is known whether the region has more to log.
TEST(RedoLog, FullLastHeaderIsWrittenWithTheOrderOfCommitsWhenItsRegionEnds) {
  const Configuration configuration = two_banks({});
  Platform platform(configuration);
  HardwareLog log({.kind = LogKind::kRedo,
                   .cores = 1,
                   .channels = 1,
                   .banks = 2,
                   .rings = 1,
                   .header_entries = 0},
                  {});
  log.connect(platform.context());
  const HardwareLog::Id region = log.open(0, 1, {});
  for (std::uint64_t entry = 0; entry < kRecordEntries; ++entry) {
    log.append(region, {kBank0.number + entry}, data_of(entry), {});
  }
  platform.run();
  EXPECT_EQ(log.outstanding(region), 0u);
  EXPECT_EQ(LogHeader::of(in_pm(platform, kLog)).valid, 0);
  log.close(region, 5);
  platform.run();
  EXPECT_EQ(LogHeader::of(in_pm(platform, kLog)).valid, 0x7f);
  EXPECT_EQ(LogHeader::of(in_pm(platform, kLog)).commit_order, 5u);
}

// Rule 4 of hw_redo.hpp. The log has eight records, of which each region uses one.
TEST(HwRedo, LazyUpdateBeginsWhenTheLogIsMoreThanHalfFull) {
  RedoBench bench({{"hw_redo.in_place", "lazy"}, {"log.ring_size", "4KiB"}});
  for (std::uint64_t region = 1; region <= 5; ++region) {
    EXPECT_EQ(bench.statistic("hw_redo.in_place_writes"), 0) << region;
    bench.begin(region, {{kBank0.number + region}});
    bench.end(region);
    bench.commit();
    bench.platform.run();
  }
  EXPECT_EQ(bench.statistic("hw_redo.in_place_writes"), 2) << "the two oldest regions";
}

// The region's last record, which has its position in the order of commits, is the first one in
// the ring.
TEST(RedoLog, RecordsAreRedoneInTheOrderOfTheirNumbers) {
  Image image;
  const Line home = kBank0;
  for (std::uint32_t record = 0; record < 3; ++record) {
    const Line place{kLog.number + (2 - record) * kRecordLines};
    const LogHeader header{.core = 0,
                           .region = 1,
                           .valid = 1,
                           .homes = {record < 2 ? home : kBank1},
                           .commit_order = record == 2 ? 1u : 0u,
                           .record = record};
    image.write(place, header.bytes());
    image.write({place.number + 1}, data_of(10 + record));
  }
  HwRedo::Survivors survivors{{1}, {0}, CommitOrder::kGlobal, {}};
  survivors.log.rings = {{kLog, 3 * kRecordLines}};
  recover_redo_log(survivors, image);
  EXPECT_EQ(value_of(image.read(home)), 11u) << "the second record's";
  EXPECT_EQ(value_of(image.read(kBank1)), 12u);
}

TEST(HwRedo, LazyUpdateWritesALineInPlaceOnce) {
  // Ten regions write the same line: ten log entries, and one write in place at the end.
  for (const bool lazy : {false, true}) {
    TraceBuilder builder;
    builder.pm_region(kPmBase, kPmBase + 4096);
    const auto store = builder.site(SiteKind::kStore, 8, 1);
    for (std::uint64_t region = 0; region < 10; ++region) {
      builder.mark(MarkKind::kRegionBegin, 1);
      builder.store(store, kPmBase, region);
      builder.store(store, kPmBase + 8, region);
      builder.mark(MarkKind::kRegionEnd, 1);
    }
    const auto result =
        run_trace(builder, settings({{"ordering", "x86"},
                                     {"atomicity", "hw-redo"},
                                     {"hw_redo.in_place", lazy ? "lazy" : "eager"}}));
    EXPECT_EQ(statistic(result, "hw_redo.committed"), 10);
    EXPECT_EQ(statistic(result, "hw_redo.coalesced"), 10);
    EXPECT_EQ(statistic(result, "log.entries"), 10);
    EXPECT_EQ(
        statistic(result, "hw_redo.in_place_writes") + statistic(result, "hw_redo.filtered_writes"),
        10);
    if (lazy) {
      EXPECT_EQ(statistic(result, "hw_redo.in_place_writes"), 1);
    }
  }
}

}  // namespace
}  // namespace pmemsim
