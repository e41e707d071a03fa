// LAD: the lines that controllers keep, regions that overflow into the log, and recovery from a
// crash at every change of the persistent state.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "long_tests.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/lad.hpp"
#include "pmemsim/designs/atomicity/lad_recovery.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "shared_regions.hpp"
#include "unit/crash_probe.hpp"

namespace pmemsim {
namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::MarkKind;
using trace::SiteKind;
using trace::TraceBuilder;

// Numbers of entries of the write pending queue and of the log queue, and the device. They have
// space for most lines, for few lines, or for one line. Log writes may persist late, and
// controllers may be behind a link. Headers are in a persistent queue, in none, or in the ADR
// buffer with lines.
struct Controllers {
  std::string_view wpq, log_queue, place, link, allocation = "sequential", headers = "128",
                                                metadata = "collated-header";
};
void PrintTo(const Controllers& c, std::ostream* out) {
  *out << c.wpq << " entries, " << c.log_queue << " for the log, " << c.allocation << ", "
       << c.place << ", " << c.headers << " headers, " << c.metadata;
}
Configuration lad_with(const Controllers& controllers, std::string_view cores) {
  return crash_configuration({{"core.count", cores},
                              {"atomicity", "lad"},
                              {"pm.wpq_entries", controllers.wpq},
                              {"pm.log_queue_entries", controllers.log_queue},
                              {"pm.queue_place", controllers.place},
                              {"pm.link_latency", controllers.link},
                              {"pm.interleaving", "line"},
                              {"log.allocation", controllers.allocation},
                              {"log.header_entries", controllers.headers},
                              {"log.metadata", controllers.metadata}});
}
double counter(const Machine& machine, std::string_view name) {
  StatisticsCollector collector;
  machine.describe_statistics(collector);
  for (const Statistic& statistic : collector.found) {
    if (statistic.name == name) return statistic.value;
  }
  return -1;
}

// The long form has six seeds instead of two.
class LadCrash : public testing::TestWithParam<std::tuple<int, Controllers>> {};
INSTANTIATE_TEST_SUITE_P(
    Seeds, LadCrash,
    testing::Combine(
        seeds(0, 2, 6),
        testing::Values(
            Controllers{"64", "0", "host", "0ns"}, Controllers{"4", "0", "host", "0ns"},
            Controllers{"2", "0", "host", "0ns"}, Controllers{"1", "0", "host", "0ns"},
            Controllers{"4", "2", "host", "0ns"}, Controllers{"4", "2", "device", "70ns"},
            Controllers{"4", "0", "host", "0ns", "load-aware"},
            Controllers{"1", "2", "host", "0ns", "load-aware"},
            Controllers{"1", "0", "host", "0ns", "sequential", "0"},
            Controllers{"4", "2", "device", "70ns", "sequential", "0"},
            Controllers{"1", "2", "host", "0ns", "load-aware", "0"},
            Controllers{"4", "0", "host", "0ns", "load-aware", "0"},
            Controllers{"1", "2", "host", "0ns", "sequential", "0", "adr-buffered"},
            Controllers{"4", "0", "host", "0ns", "sequential", "128", "adr-buffered"},
            Controllers{"4", "2", "device", "70ns", "load-aware", "0", "adr-buffered"})));

TEST_P(LadCrash, LeavesWholeRegionsAtEveryPoint) {
  const auto& [seed, controllers] = GetParam();
  Regions program(static_cast<std::uint32_t>(seed), 30, 24, 40);
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(lad_with(controllers, "1"), file);
  const auto& design = dynamic_cast<const Lad&>(machine.design().atomicity());
  int half_committed = 0;
  CrashProbe probe(machine, program.states, [&](Image& image) {
    const Lad::Survivors survivors = design.survivors();
    half_committed += survivors.committed[0][0] != survivors.committed[1][0];
    recover_lad(survivors, image);
    return committed_region(survivors, 0);
  });
  machine.observe(&probe);
  ASSERT_TRUE(machine.run({}));
  EXPECT_EQ(probe.problem, "");
  EXPECT_GT(probe.crashes, 300);
  EXPECT_GT(probe.undone, 25);
  EXPECT_GT(half_committed, 25) << "between the commit messages to two controllers";
  EXPECT_EQ(committed_region(design.survivors(), 0), 30u);
  EXPECT_TRUE(design.survivors().kept.empty());
  EXPECT_EQ(design.pending(), "");
  // Nothing is lost without a crash, either.
  for (const auto& [address, value] : program.states.back()) {
    std::uint64_t found = 0;
    const LineData data = machine.pm().device().read(Line::of(address));
    std::memcpy(&found, data.data() + address % kLineBytes, 8);
    EXPECT_EQ(found, value);
  }
  if (controllers.wpq == "64") {
    EXPECT_EQ(counter(machine, "lad.overflows"), 0);
  } else {
    EXPECT_GT(counter(machine, "lad.overflows"), 10);
  }
}

// Regions of several records, whose headers persist in another order than that of their chain, or
// of which some stay in the ADR buffer and others don't. The long form has 10 seeds instead of 5.
class LadChainCrash : public testing::TestWithParam<std::tuple<int, std::string_view>> {};
INSTANTIATE_TEST_SUITE_P(SeedsAndMetadata, LadChainCrash,
                         testing::Combine(seeds(0, 5, 10),
                                          testing::Values("collated-header", "adr-buffered")));

TEST_P(LadChainCrash, LeavesWholeRegionsAtEveryPoint) {
  const auto& [seed, metadata] = GetParam();
  Regions program(static_cast<std::uint32_t>(seed), 12, 40, 80);
  expect_whole_regions<Lad>(program,
                            crash_configuration({{"atomicity", "lad"},
                                                 {"pm.banks_per_rank", "1"},
                                                 {"pm.wpq_entries", "4"},
                                                 {"log.allocation", "load-aware"},
                                                 {"log.metadata", metadata},
                                                 {"log.header_entries", "0"}}),
                            [](const Lad::Survivors& survivors, Image& image) {
                              recover_lad(survivors, image);
                              return committed_region(survivors, 0);
                            },
                            {.undone = 50});
}

// The long form has two seeds instead of one.
class LadSharedCrash
    : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t, Controllers>> {};
INSTANTIATE_TEST_SUITE_P(
    SeedsAndThreads, LadSharedCrash,
    testing::Combine(
        seeds(0u, 1u, 2u), testing::Range(2u, 5u),
        testing::Values(Controllers{"64", "0", "host", "0ns"}, Controllers{"2", "0", "host", "0ns"},
                        Controllers{"6", "2", "host", "0ns", "load-aware", "0", "adr-buffered"},
                        Controllers{"2", "2", "host", "0ns", "sequential", "0"},
                        Controllers{"1", "8", "host", "0ns", "load-aware", "0"},
                        Controllers{"1", "0", "host", "0ns", "load-aware"},
                        Controllers{"4", "2", "host", "0ns", "load-aware"},
                        Controllers{"4", "2", "device", "70ns", "load-aware"})));

TEST_P(LadSharedCrash, LeavesAClosedSetOfWholeRegionsAtEveryPoint) {
  const auto& [seed, threads, controllers] = GetParam();
  const SharedRun run =
      crash_shared({.seed = seed, .threads = threads}, lad_with(controllers, "4"));
  EXPECT_EQ(run.problem, "");
  EXPECT_GT(run.crashes, 200);
  EXPECT_GT(run.undone, 20);
}

// One region that writes so many lines, each twice.
TraceBuilder one_region(std::uint64_t lines, bool flushes) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  const auto clwb =
      builder.site(SiteKind::kFlush, 0, 1, {}, {}, static_cast<std::uint8_t>(FlushKind::kClwb));
  const auto sfence =
      builder.site(SiteKind::kFence, 0, 1, {}, {}, static_cast<std::uint8_t>(FenceKind::kSfence));
  builder.mark(MarkKind::kRegionBegin, 1);
  for (std::uint64_t i = 0; i < 2 * lines; ++i) {
    builder.store(store, kPmBase + i % lines * kLineBytes + 8 * (i / lines), i + 1);
  }
  if (flushes) {
    for (std::uint64_t i = 0; i < lines; ++i) builder.access(clwb, kPmBase + i * kLineBytes);
    builder.plain(sfence);
  }
  builder.mark(MarkKind::kRegionEnd, 1);
  return builder;
}

std::vector<Setting> lad(std::string_view wpq_entries) {
  return settings({{"ordering", "x86"}, {"atomicity", "lad"}, {"pm.wpq_entries", wpq_entries}});
}
// Settings of LAD with a WPQ of 8 entries and slow PM.
std::vector<Setting> lad_on_slow_pm(std::string_view log_queue, std::string_view header_entries) {
  return settings({{"ordering", "x86"},
                   {"atomicity", "lad"},
                   {"pm.wpq_entries", "8"},
                   {"pm.device", "fixed"},
                   {"pm.read_latency", "50ns"},
                   {"pm.write_latency", "300ns"},
                   {"pm.log_queue_entries", log_queue},
                   {"log.header_entries", header_entries}});
}

TEST(Lad, RegionThatFitsWritesOnlyItsData) {
  TraceBuilder builder = one_region(7, false);
  const auto result = run_trace(builder, lad("8"));
  EXPECT_EQ(statistic(result, "lad.committed"), 1);
  EXPECT_EQ(statistic(result, "lad.speculative"), 7);
  EXPECT_EQ(statistic(result, "lad.overflows"), 0);
  EXPECT_EQ(statistic(result, "pm.bytes_written"), 7 * 64);
  EXPECT_EQ(statistic(result, "pm.log_bytes_written"), 0);
  EXPECT_GT(statistic(result, "lad.commit_latency_ns"), 0);
  EXPECT_EQ(statistic(result, "lad.log_completion_ns"), statistic(result, "lad.commit_latency_ns"));
}

TEST(Lad, RegionThatOverflowsLogsAllItsLines) {
  // One entry of the eight is never reserved.
  TraceBuilder builder = one_region(10, false);
  const auto result = run_trace(builder, lad("8"));
  EXPECT_EQ(statistic(result, "lad.overflows"), 1);
  EXPECT_EQ(statistic(result, "log.entries"), 10);
  EXPECT_EQ(statistic(result, "pm.data_bytes_written"), 10 * 64);
  EXPECT_EQ(statistic(result, "pm.log_bytes_written"), 11 * 64) << "the second header isn't full";
  EXPECT_GT(statistic(result, "log.entry_latency_ns"), 0);
}

TEST(Lad, RegionAfterAnOverflowedRegionLogsNothing) {
  TraceBuilder builder = one_region(10, false);
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  const auto result = run_trace(builder, lad("8"));
  EXPECT_EQ(statistic(result, "lad.committed"), 2);
  EXPECT_EQ(statistic(result, "log.entries"), 10) << "of the first region";
}

TEST(Lad, RegionThatOverflowsAtTwoControllersIsCountedOnce) {
  TraceBuilder builder = one_region(10, false);
  std::vector<Setting> controllers = lad("4");
  controllers.push_back({"pm.controllers", "2", "test"});
  controllers.push_back({"pm.interleaving", "line", "test"});
  const auto result = run_trace(builder, controllers);
  EXPECT_EQ(statistic(result, "log.entries"), 10) << "five of each controller";
  EXPECT_EQ(statistic(result, "lad.overflows"), 1);
}

TEST(Lad, OverflowedRegionWaitsForItsLog) {
  const auto commit = [](std::uint64_t lines, std::string_view log_queue) {
    TraceBuilder builder = one_region(lines, false);
    return statistic(run_trace(builder, lad_on_slow_pm(log_queue, "128")), "lad.commit_latency_ns");
  };
  EXPECT_LT(commit(7, "32"), 100);
  EXPECT_GT(commit(8, "0"), commit(7, "0") + 50) << "the old data are read";
  EXPECT_GT(commit(8, "32"), commit(7, "32") + 50 + 300) << "the log entry is written";
}

// Conventional logs (LALEA, II-B): a header is written after its entries, and the data after that.
TEST(Lad, DataWaitForTheHeaderWithoutAHeaderQueue) {
  const auto run = [](std::string_view header_entries) {
    TraceBuilder builder = one_region(10, false);
    return run_trace(builder, lad_on_slow_pm("32", header_entries));
  };
  const auto queued = run("128");
  const auto written = run("0");
  EXPECT_EQ(statistic(queued, "log.headers"), 1) << "of the full record";
  EXPECT_EQ(statistic(written, "log.headers"), 2);
  EXPECT_EQ(statistic(written, "log.entries"), 10);
  // All of the log is in one page, so in one bank: ten entries and two headers.
  EXPECT_GT(statistic(written, "lad.commit_latency_ns"), 12 * 300);
  EXPECT_GT(statistic(written, "lad.commit_latency_ns"),
            statistic(queued, "lad.commit_latency_ns") + 300);
  // The data follow.
  EXPECT_GT(statistic(written, "lad.log_completion_ns"), 12 * 300);
  EXPECT_LT(statistic(written, "lad.log_completion_ns"),
            statistic(written, "lad.commit_latency_ns"));
}

TEST(Lad, FlushInsideARegionIsDelayedAndItsLineIsLogged) {
  TraceBuilder builder = one_region(3, true);
  const auto result = run_trace(builder, lad("8"));
  EXPECT_EQ(statistic(result, "lad.delayed_flushes"), 3);
  EXPECT_EQ(statistic(result, "log.entries"), 3);
  EXPECT_EQ(statistic(result, "lad.overflows"), 0);
}

// Rules 2 and 3.
TEST(Lad, LineEvictedInItsRegionIsReadFromTheController) {
  constexpr std::uint64_t kLines = 16;
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  const auto load = builder.site(SiteKind::kLoad, 8, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  for (std::uint64_t i = 0; i < kLines; ++i) builder.store(store, kPmBase + i * kLineBytes, i + 1);
  builder.external(100'000);
  for (std::uint64_t i = 0; i < 4; ++i) builder.access(load, kPmBase + i * kLineBytes);
  builder.mark(MarkKind::kRegionEnd, 1);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(crash_configuration({{"atomicity", "lad"}, {"pm.wpq_entries", "64"}}), file);
  ASSERT_TRUE(machine.run({}));
  // The shared cache has 8 lines, and the four that are read take the places of others.
  EXPECT_EQ(counter(machine, "lad.written_through"), kLines - 8 + 4);
  EXPECT_EQ(counter(machine, "lad.forwarded"), 4);
  EXPECT_EQ(counter(machine, "log.entries"), 0);
}

TEST(Lad, RegionWithoutStoresCommitsAtOnce) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  const auto result = run_trace(builder, lad("8"));
  EXPECT_EQ(statistic(result, "lad.committed"), 1);
  EXPECT_EQ(statistic(result, "lad.commit_latency_ns"), 0);
}

// BLOM for LAD: a header in the ADR buffer beside the region's lines holds nothing up. One that
// finds no room there, as after an overflow, is written.
TEST(Lad, DataDoNotWaitForAHeaderInTheAdrBuffer) {
  const auto run = [](std::string_view metadata, std::uint64_t lines, bool flushes) {
    std::vector<Setting> list = lad_on_slow_pm("32", "0");
    list.push_back({"log.metadata", std::string(metadata), "test"});
    TraceBuilder builder = one_region(lines, flushes);
    return run_trace(builder, list);
  };
  const auto written = run("collated-header", 1, true);
  EXPECT_EQ(statistic(written, "log.headers"), 1);
  const auto buffered = run("adr-buffered", 1, true);
  EXPECT_EQ(statistic(buffered, "log.headers"), 0);
  EXPECT_EQ(statistic(buffered, "log.buffered_headers"), 1);
  EXPECT_NEAR(nanoseconds(written) - nanoseconds(buffered), 300, 30);

  const auto overflown = run("adr-buffered", 10, false);
  EXPECT_EQ(statistic(overflown, "log.headers"), 2);
  EXPECT_EQ(statistic(overflown, "log.buffered_headers"), 0);
}

// Four cores whose regions share lines and fill each other's queues. All regions complete, and
// finally the device holds all stores of the program. The long form has six seeds instead of two.
class LadManyCores
    : public testing::TestWithParam<std::tuple<std::uint32_t, std::string_view, std::string_view>> {
};
INSTANTIATE_TEST_SUITE_P(Seeds, LadManyCores,
                         testing::Combine(seeds(1u, 2u, 6u), testing::Values("1", "2", "4", "16"),
                                          testing::Values("0", "1", "128")));

TEST_P(LadManyCores, AllCoresMakeProgressWithFullQueues) {
  const auto [seed, wpq, header_entries] = GetParam();
  constexpr int kRegions = 40;
  constexpr std::uint64_t kLines = 40;
  std::mt19937_64 random(seed);
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    builder.thread(thread);
    for (int region = 0; region < kRegions; ++region) {
      builder.mark(MarkKind::kRegionBegin, 1);
      for (std::uint64_t left = 1 + random() % 12; left > 0; --left) {
        builder.store(store, kPmBase + random() % kLines * kLineBytes + random() % 8 * 8, random());
      }
      builder.mark(MarkKind::kRegionEnd, 1);
    }
  }
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(crash_configuration({{"core.count", "4"},
                                       {"atomicity", "lad"},
                                       {"log.header_entries", header_entries},
                                       {"pm.wpq_entries", wpq}}),
                  file);
  ASSERT_TRUE(machine.run({}));
  EXPECT_TRUE(machine.pm().idle());
  EXPECT_GT(counter(machine, "lad.overflows"), 0);
  EXPECT_EQ(counter(machine, "lad.committed"), 4 * kRegions);
  EXPECT_EQ(dynamic_cast<const Lad&>(machine.design().atomicity()).pending(), "");
  for (std::uint64_t i = 0; i < kLines; ++i) {
    const Line line = Line::of(kPmBase + i * kLineBytes);
    EXPECT_EQ(machine.pm().device().read(line), machine.pm_space().newest().read(line)) << i;
  }
}

}  // namespace
}  // namespace pmemsim
