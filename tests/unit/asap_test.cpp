// ASAP: the writes that it makes and omits, and its recovery from a crash at every change of the
// persistent state.
#include <gtest/gtest.h>

#include "long_tests.hpp"
#include "pmemsim/designs/atomicity/asap.hpp"
#include "pmemsim/designs/atomicity/asap_recovery.hpp"
#include "shared_regions.hpp"
#include "unit/crash_probe.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

// By seed, by the traffic optimisations, one after the other (5.1): none, +C, +C+LP, all; and by
// the policies of log placement. The long form has two seeds instead of one.
class AsapCrash : public testing::TestWithParam<std::tuple<int, int, LogPolicies>> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AsapCrash,
                         testing::Combine(seeds(0, 1, 2), testing::Range(0, 4),
                                          testing::ValuesIn(kLogPolicies)));

TEST_P(AsapCrash, LeavesWholeRegionsAtEveryPoint) {
  const auto& [seed, optimisations, policies] = GetParam();
  Regions program(static_cast<std::uint32_t>(seed), 30, 24, 40);
  std::uint64_t begun = 0;
  expect_whole_regions<Asap>(
      program,
      crash_configuration({{"atomicity", "asap"},
                           {"log.allocation", policies.allocation},
                           {"log.metadata", policies.metadata},
                           {"asap.dpo_coalescing", optimisations > 0 ? "true" : "false"},
                           {"asap.lpo_dropping", optimisations > 1 ? "true" : "false"},
                           {"asap.dpo_dropping", optimisations > 2 ? "true" : "false"}}),
      [&](const Asap::Survivors& survivors, Image& image) {
        recover_asap(survivors, image);
        // One thread: regions commit in their order, so all before the oldest in the list have.
        if (survivors.dependences.empty()) return begun;
        begun = std::max(begun, survivors.dependences.rbegin()->first);
        return survivors.dependences.begin()->first - 1;
      },
      {.crashes = 300, .undone = 50});
}

// Threads that share lines.
SharedRun crash_asap(const SharedRegions::Options& options, std::string_view wpq_entries,
                     std::string_view defect = "none", const LogPolicies& policies = {}) {
  const std::string fault = defect == "none" ? "" : "asap." + std::string(defect);
  return crash_shared(options, crash_configuration({{"core.count", "4"},
                                                    {"atomicity", "asap"},
                                                    {"log.allocation", policies.allocation},
                                                    {"log.metadata", policies.metadata},
                                                    {"pmemsim.faults", fault}},
                                                   wpq_entries));
}

// The long form has eight seeds instead of two.
class AsapSharedCrash : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(SeedsAndThreads, AsapSharedCrash,
                         testing::Combine(seeds(0u, 2u, 8u), testing::Range(2u, 5u)));

TEST_P(AsapSharedCrash, LeavesAClosedSetOfWholeRegionsAtEveryPoint) {
  const auto [seed, threads] = GetParam();
  for (const bool inside : {false, true}) {
    for (const std::string_view wpq_entries : {"1", "8"}) {
      const SharedRun run = crash_asap(
          {.seed = seed, .threads = threads, .locks_inside = inside, .false_sharing = !inside},
          wpq_entries);
      EXPECT_EQ(run.problem, "");
      EXPECT_GT(run.crashes, 200);
      EXPECT_GT(run.undone, 20);
    }
  }
}

// The long form has six seeds instead of two.
class AsapSharedCrashByPolicy
    : public testing::TestWithParam<std::tuple<std::uint32_t, LogPolicies>> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AsapSharedCrashByPolicy,
                         testing::Combine(seeds(0u, 2u, 6u), testing::ValuesIn(kLogPolicies)));

TEST_P(AsapSharedCrashByPolicy, LeavesAClosedSetOfWholeRegionsAtEveryPoint) {
  const auto& [seed, policies] = GetParam();
  for (const bool inside : {false, true}) {
    const SharedRun run = crash_asap(
        {.seed = seed, .threads = 2 + seed % 3, .locks_inside = inside, .false_sharing = !inside},
        inside ? "64" : "9", "none", policies);
    EXPECT_EQ(run.problem, "");
    EXPECT_GT(run.crashes, 200);
    EXPECT_GT(run.undone, 20);
  }
}

class AsapInjectedFault : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(All, AsapInjectedFault,
                         testing::Values("dependences", "lock_bit", "lpo_dropping"),
                         [](const auto& defect) { return std::string(defect.param); });

TEST_P(AsapInjectedFault, CrashesRevealTheInjectedFault) {
  std::string problem;
  for (std::uint32_t seed = 0; seed < 4 && problem.empty(); ++seed) {
    problem = crash_asap({.seed = seed, .threads = 2}, "8", GetParam()).problem;
  }
  EXPECT_NE(problem, "");
}

// Regions that write one line each.
TraceBuilder one_line_regions(int regions, bool same_line) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  for (int region = 0; region < regions; ++region) {
    builder.mark(MarkKind::kRegionBegin, 1);
    const std::uint64_t line = kPmBase + (same_line ? 0 : region) * kLineBytes;
    for (std::uint64_t word = 0; word < 4; ++word)
      builder.store(store, line + word * 8, region + 1);
    builder.mark(MarkKind::kRegionEnd, 1);
  }
  return builder;
}

TEST(Asap, LineOfARegionPersistsOnceAndItsLogIsDropped) {
  TraceBuilder builder = one_line_regions(6, false);
  const auto result = run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.committed"), 6);
  EXPECT_EQ(statistic(result, "asap.lpos"), 6);
  EXPECT_EQ(statistic(result, "asap.dpos"), 6) << "four stores, one data persist operation";
  EXPECT_EQ(statistic(result, "log.dropped"), 6);
  EXPECT_EQ(statistic(result, "asap.control_dependences"), 5);
  EXPECT_EQ(statistic(result, "asap.data_dependences"), 0);
  EXPECT_EQ(statistic(result, "pm.bytes_written"), 6 * 64);
}

TEST(Asap, DataPersistOperationOfALineLoggedByALaterRegionIsDropped) {
  TraceBuilder builder = one_line_regions(6, true);
  const auto result = run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.dpos"), 6);
  EXPECT_GT(statistic(result, "asap.dpos_dropped"), 0);
  EXPECT_EQ(statistic(result, "pm.bytes_written") / 64 + statistic(result, "asap.dpos_dropped"), 6);
}

TEST(Asap, WithoutCoalescingAndDroppingMoreDataAndAllLogEntriesAreWritten) {
  TraceBuilder builder = one_line_regions(6, false);
  const auto result = run_trace(builder, settings({{"ordering", "x86"},
                                                   {"atomicity", "asap"},
                                                   {"asap.dpo_coalescing", "false"},
                                                   {"asap.lpo_dropping", "false"}}));
  EXPECT_GT(statistic(result, "asap.dpos"), 6);
  EXPECT_EQ(statistic(result, "log.dropped"), 0);
  EXPECT_EQ(statistic(result, "pm.log_bytes_written"), 6 * 64);
}

TEST(Asap, RegionsStallWhenTheListsAreFull) {
  TraceBuilder builder = one_line_regions(20, false);
  const auto stalls = [&](std::string_view key, std::string_view counter) {
    return statistic(
        run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}, {key, "1"}})),
        counter);
  };
  EXPECT_GT(stalls("asap.cl_entries", "asap.cl_stalls"), 0);
  EXPECT_GT(stalls("asap.dependence_entries", "asap.dependence_stalls"), 0);
  EXPECT_GT(stalls("asap.lh_wpq_entries", "asap.lh_wpq_stalls"), 0);
}

// Returns the message of a program that gets stuck on a machine with one channel, one of whose
// lists has `entries` entries.
std::string stuck(TraceBuilder& builder, std::string_view list, std::string_view entries) {
  try {
    run_trace(builder, settings({{"ordering", "x86"},
                                 {"atomicity", "asap"},
                                 {"pm.controllers", "1"},
                                 {"pm.channels_per_controller", "1"},
                                 {list, entries}}));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Thread 0's region waits for a lock that thread 1 has while its own region begins.
TEST(Asap, DependenceListSmallerThanTheNumberOfThreadsIsRejected) {
  TraceBuilder builder;
  builder.thread(0).mark(MarkKind::kRegionBegin, 1);
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.thread(1).plain(builder.site(SiteKind::kExecute, 0, 4000));
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 0);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, 1);
  const std::string_view list = "asap.dependence_entries";
  EXPECT_EQ(stuck(builder, list, "2"), "");
  EXPECT_NE(stuck(builder, list, "1").find("choose asap.dependence_entries=2"), std::string::npos);
}

// Thread 0's region releases a lock inside. A region of thread 1 that depends on it has ended, and
// keeps its list entry. So thread 1's next region can't begin, but it holds the lock that thread 0
// requests then.
TEST(Asap, DeadlockOnAFullListNamesTheList) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  const auto region = [&](std::uint64_t value) {
    builder.mark(MarkKind::kRegionBegin, 1);
    builder.store(store, kPmBase, value);
    builder.mark(MarkKind::kRegionEnd, 1);
  };
  builder.thread(0).mark(MarkKind::kRegionBegin, 1);
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 0);
  builder.store(store, kPmBase, 1);
  builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, 1);
  builder.sync(SyncKind::kMutexLock, kDramBase + 64, 1, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.thread(1).sync(SyncKind::kMutexLock, kDramBase + 64, 1, 0);
  builder.sync(SyncKind::kMutexLock, kDramBase, 0, 1);
  region(2);
  region(3);
  builder.sync(SyncKind::kMutexUnlock, kDramBase + 64, 1, 1);
  for (const std::string list : {"asap.dependence_entries", "asap.lh_wpq_entries"}) {
    EXPECT_EQ(stuck(builder, list, "3"), "");
    const std::string sentence = stuck(builder, list, "2");
    EXPECT_NE(sentence.find("is deadlocked"), std::string::npos) << sentence;
    EXPECT_TRUE(sentence.ends_with("; choose a larger " + list)) << sentence;
  }
}

TEST(Asap, ManyRegionsMayDependOnOneRegion) {
  // Thread 1's region writes a line and ends last. Thread 0's all wait for it: each depends on the
  // one before and on the one before that, so that there are 2^40 ways from the last to the first.
  constexpr int kRegions = 60;
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  builder.thread(1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase, 1);
  builder.sync(SyncKind::kSignal, kDramBase, 0, 1);
  builder.sync(SyncKind::kWait, kDramBase + 64, 1, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.thread(0);
  builder.sync(SyncKind::kWait, kDramBase, 0, 1);
  for (std::uint64_t region = 0; region < kRegions; ++region) {
    builder.mark(MarkKind::kRegionBegin, 1);
    builder.store(store, kPmBase + region % 2 * kLineBytes, region);
    builder.mark(MarkKind::kRegionEnd, 1);
  }
  builder.sync(SyncKind::kSignal, kDramBase + 64, 1, 1);
  const auto result = run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.committed"), kRegions + 1);
  EXPECT_EQ(statistic(result, "asap.control_dependences"), kRegions - 1);
  EXPECT_EQ(statistic(result, "asap.data_dependences"), kRegions - 1);
}

// One region stores four times to a line of the cache, that many instructions apart.
RunResult persist_every_store(std::uint32_t instructions) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  const auto work = builder.site(SiteKind::kExecute, 0, instructions);
  builder.access(builder.site(SiteKind::kLoad, 8, 1), kPmBase);
  builder.plain(builder.site(SiteKind::kExecute, 0, 4000));
  builder.mark(MarkKind::kRegionBegin, 1);
  for (std::uint64_t word = 0; word < 4; ++word) {
    builder.store(store, kPmBase + word * 8, 1);
    builder.plain(work);
  }
  builder.mark(MarkKind::kRegionEnd, 1);
  return run_trace(builder, settings({{"atomicity", "asap"},
                                      {"asap.dpo_coalescing", "false"},
                                      {"asap.lpo_dropping", "false"},
                                      {"asap.dpo_dropping", "false"}}));
}

TEST(Asap, WithoutOptimisationsEveryStoreStartsADataPersistOperation) {
  const RunResult result = persist_every_store(4000);
  EXPECT_EQ(statistic(result, "asap.dpos"), 4);
  // The write-pending queue merges DPOs that wait in it.
  EXPECT_EQ(statistic(result, "pm.data_bytes_written") / 64 + statistic(result, "pm.writes_merged"),
            4);
}

TEST(Asap, StoresDuringALogWriteArePersistedOnce) {
  // A CLPtr slot is a pointer to a line, not a count of its stores.
  EXPECT_EQ(statistic(persist_every_store(1), "asap.dpos"), 1);
}

TEST(Asap, NestedRegionsAreOneRegion) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kPmBase, 1);
  builder.mark(MarkKind::kRegionBegin, 2);
  builder.store(store, kPmBase, 2);
  builder.mark(MarkKind::kRegionEnd, 2);
  builder.store(store, kPmBase, 3);
  builder.mark(MarkKind::kRegionEnd, 1);
  const auto result = run_trace(builder, settings({{"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.committed"), 1);
  EXPECT_EQ(statistic(result, "asap.lpos"), 1);
}

TEST(Asap, OnlyPmLinesStoredByRegionsAreLogged) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(store, kDramBase, 1);
  builder.store(store, kPmBase, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.store(store, kPmBase + kLineBytes, 1);
  const auto result = run_trace(builder, settings({{"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.lpos"), 1) << "nor what no region writes";
  EXPECT_EQ(statistic(result, "asap.dpos"), 1);
}

TEST(Asap, CommittedRegionsReleaseTheirLog) {
  TraceBuilder builder = one_line_regions(100, false);
  const auto growths = [&](std::string_view allocation) {
    const auto result = run_trace(builder, settings({{"atomicity", "asap"},
                                                     {"log.allocation", allocation},
                                                     {"log.ring_size", "4KiB"},
                                                     {"log.free_entries", "16"},
                                                     {"log.free_headers", "16"},
                                                     {"pm.controllers", "1"},
                                                     {"pm.channels_per_controller", "1"},
                                                     {"pm.ranks", "1"},
                                                     {"pm.banks_per_rank", "1"}}));
    EXPECT_EQ(statistic(result, "asap.committed"), 100);
    return statistic(result, "log.growths");
  };
  EXPECT_EQ(growths("sequential"), 0) << "8 records go round";
  EXPECT_EQ(growths("load-aware"), 0) << "16 blocks for entries, 16 for headers";
}

TEST(Asap, FullLogGrows) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  for (std::uint64_t line = 0; line < 20 * kRecordEntries; ++line) {
    builder.store(store, kPmBase + line * kLineBytes, 1);
  }
  builder.mark(MarkKind::kRegionEnd, 1);
  const auto growths = [&](std::string_view ring_size) {
    return statistic(
        run_trace(builder, settings({{"atomicity", "asap"}, {"log.ring_size", ring_size}})),
        "log.growths");
  };
  EXPECT_EQ(growths("10KiB"), 0) << "20 records of 8 lines";
  EXPECT_EQ(growths("4KiB"), 2) << "of 8 records each";
}

TEST(Asap, ContextSwitchInsideARegionKeepsTheRegion) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  const auto work = builder.site(SiteKind::kExecute, 0, 400);
  for (std::uint64_t region = 0; region < 10; ++region) {
    builder.mark(MarkKind::kRegionBegin, 1);
    for (std::uint64_t i = 0; i < 2; ++i) {
      builder.store(store, kPmBase + region * kLineBytes + i * 8, i);
      for (int j = 0; j < 10; ++j) builder.plain(work);
    }
    builder.mark(MarkKind::kRegionEnd, 1);
  }
  const auto run = [&](std::string_view slice) {
    return run_trace(builder, settings({{"atomicity", "asap"}, {"core.time_slice", slice}}));
  };
  const RunResult staying = run("0ns"), leaving = run("300ns");
  EXPECT_EQ(statistic(staying, "core.context_switches"), 0);
  EXPECT_GT(statistic(leaving, "core.context_switches"), 10);
  EXPECT_EQ(statistic(leaving, "asap.committed"), 10);
  EXPECT_EQ(statistic(leaving, "asap.lpos"), 10) << "a line's first write stays its first";
  EXPECT_EQ(statistic(staying, "asap.dpos"), 10);
  EXPECT_GT(statistic(leaving, "asap.dpos"), 15) << "before the switch, and at the region's end";
  EXPECT_GT(leaving.time, staying.time);
}

// Thread 1's region writes `lines`, and ends after thread 0 has run a region that reads at `read`
// and, behind it, loads all of `lines`.
TraceBuilder read_before_the_end(std::vector<Line> lines, std::uint64_t read) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 20));
  const auto store = builder.site(SiteKind::kStore, 8, 1);
  const auto load = builder.site(SiteKind::kLoad, 8, 1);
  builder.thread(1);
  builder.mark(MarkKind::kRegionBegin, 1);
  for (const Line line : lines) builder.store(store, line.address(), 1);
  builder.sync(SyncKind::kSignal, kDramBase, 0, 1);
  builder.sync(SyncKind::kWait, kDramBase + 64, 1, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.thread(0);
  builder.sync(SyncKind::kWait, kDramBase, 0, 1);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.access(load, read);
  builder.mark(MarkKind::kRegionEnd, 1);
  for (const Line line : lines) builder.access(load, line.address());
  builder.sync(SyncKind::kSignal, kDramBase + 64, 1, 1);
  return builder;
}

TEST(Asap, LoadAcrossTwoLinesDependsOnBothOwners) {
  // The second of its two lines is the other region's.
  TraceBuilder builder =
      read_before_the_end({Line::of(kPmBase + kLineBytes)}, kPmBase + kLineBytes - 4);
  const auto result = run_trace(builder, settings({{"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.data_dependences"), 1);
}

TEST(Asap, OwnersOfEvictedLinesAreSavedInDramAndFoundAgain) {
  // 200 lines don't fit into the caches.
  std::vector<Line> lines;
  for (std::uint64_t i = 0; i < 200; ++i) lines.push_back(Line::of(kPmBase + i * kLineBytes));
  TraceBuilder builder = read_before_the_end(lines, kPmBase);
  const auto result = run_trace(builder, settings({{"atomicity", "asap"},
                                                   {"l1.size", "256B"},
                                                   {"l1.ways", "2"},
                                                   {"l2.size", "0B"},
                                                   {"shared.size", "2KiB"},
                                                   {"shared.size_per_core", "0B"},
                                                   {"shared.ways", "2"}}));
  EXPECT_EQ(statistic(result, "asap.data_dependences"), 1);
  EXPECT_GT(statistic(result, "asap.owners_saved"), 150);
  EXPECT_GE(statistic(result, "dram.data_writes"), statistic(result, "asap.owners_saved"));
  EXPECT_GT(statistic(result, "asap.buffer_reads"), 150);
  EXPECT_LT(statistic(result, "asap.buffer_reads_in_vain"), 5);
}

TEST(BloomFilter, InsertedLinesAreFoundAndFewOthers) {
  BloomFilter filter({1024});
  for (std::uint64_t i = 0; i < 500; ++i) filter.insert({i * 64});
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    EXPECT_TRUE(filter.contains({i * 64}));
    wrong += filter.contains({i * 64 + 1});
  }
  EXPECT_LT(wrong, 25u) << "(1 - e^(-4*500/8192))^4 is 0.2%";
  filter.clear();
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_FALSE(filter.contains({i * 64}));
}

TEST(Asap, FenceWaitsForTheLatestRegion) {
  const auto time = [](bool fence) {
    TraceBuilder builder = one_line_regions(1, false);
    if (fence) builder.mark(MarkKind::kFenceRegions);
    return nanoseconds(run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}})));
  };
  EXPECT_GT(time(true), time(false) + 10);
}

TEST(Asap, FenceAfterEveryRegionSerializesCommits) {
  // Each region waits for its own commit, so none ever depends on the one before it.
  Regions program(1, 20, 24, 10);
  const auto run = [&](std::string_view fence) {
    return run_trace(
        program.builder,
        settings({{"ordering", "x86"}, {"atomicity", "asap"}, {"asap.fence_every_region", fence}}));
  };
  const RunResult free = run("false"), fenced = run("true");
  EXPECT_EQ(statistic(fenced, "asap.committed"), 20);
  EXPECT_EQ(statistic(fenced, "asap.control_dependences"), 0);
  EXPECT_GT(statistic(free, "asap.control_dependences"), 0);
  EXPECT_GT(fenced.time, free.time);
}

}  // namespace
}  // namespace pmemsim
