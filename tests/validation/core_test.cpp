// The core against closed forms: each run's time within 5% of the formula beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/site_flags.hpp"
#include "validation/round_machine.hpp"

namespace pmemsim {
namespace {

using trace::FenceKind;
using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

// p = p->next over a working set, line by line, several rounds: every load depends on the one
// before.
double chase_ns_per_load(std::uint64_t bytes, std::uint64_t base,
                         std::initializer_list<KeyValue> more = {}) {
  const std::uint64_t lines = bytes / 64;
  const int rounds_of_few_lines = 10, rounds_of_many = 3;  // these take long, and vary little
  return steady_ns(
             [&](TraceBuilder& builder, int rounds) {
               const std::uint32_t load =
                   builder.site(SiteKind::kLoad, 8, 1, {trace::kBuiltinSites << 8});
               for (int round = 0; round < rounds; ++round) {
                 for (std::uint64_t i = 0; i < lines; ++i) builder.access(load, base + i * 64);
               }
             },
             bytes > 1 << 20 ? rounds_of_many : rounds_of_few_lines, round_machine(more)) /
         static_cast<double>(lines);
}

TEST(Chase, L1HitsTakeTheL1Latency) { expect_near(chase_ns_per_load(16 << 10, kPmBase), kL1); }
TEST(Chase, L2HitsAddTheL2Latency) {
  expect_near(chase_ns_per_load(128 << 10, kPmBase), kL1Tags + kL2);
}
TEST(Chase, SharedHitsAddTheSharedLatency) {
  expect_near(chase_ns_per_load(512 << 10, kPmBase), kL1Tags + kL2Tags + kShared);
}
TEST(Chase, PmReadsAddTheDeviceLatency) {
  expect_near(chase_ns_per_load(2 << 20, kPmBase), kWayDown + kPmRead);
}
TEST(Chase, PathToTheControllerAddsItsLatencies) {
  expect_near(chase_ns_per_load(2 << 20, kPmBase,
                                {{"path.request_latency", "40ns"},
                                 {"path.response_latency", "30ns"},
                                 {"pm.front_latency", "20ns"},
                                 {"pm.back_latency", "25ns"}}),
              kWayDown + kPmRead + 40 + 30 + 20 + 25);
}
TEST(Chase, LinkAddsItsLatencyEachWay) {
  for (const std::string_view place : {"host", "device"}) {
    expect_near(chase_ns_per_load(2 << 20, kPmBase,
                                  {{"pm.link_latency", "100ns"}, {"pm.queue_place", place}}),
                kWayDown + kPmRead + 2 * 100);
  }
}
TEST(Chase, DramReadsAddActivateColumnAndBurst) {
  // Lines of one row follow each other: all but the first of max_accesses_per_row hit it.
  expect_near(chase_ns_per_load(2 << 20, kDramBase, {{"dram.trefi", "0ps"}, {"dram.trcd", "0ns"}}),
              kWayDown + 14.16 + 3.332 + 10 + 10);
}

// The prefetcher requests a line when the load of the line `distance` lines before it begins.
TEST(Prefetcher, HidesTheLatencyUpToItsDistance) {
  for (const std::string_view distance : {"4", "8"}) {
    expect_near(chase_ns_per_load(2 << 20, kPmBase,
                                  {{"prefetch.streams", "4"},
                                   {"prefetch.distance", distance},
                                   {"pm.interleaving", "line"}}),
                (kWayDown + kPmRead) / (std::stoi(std::string(distance)) + 1));
  }
}
TEST(Prefetcher, LinesInFlightAreLimitedByItsRegisters) {
  expect_near(chase_ns_per_load(2 << 20, kPmBase,
                                {{"prefetch.streams", "4"},
                                 {"prefetch.distance", "32"},
                                 {"prefetch.registers", "4"},
                                 {"pm.interleaving", "line"}}),
              (kWayDown + kPmRead) / 4);
}
TEST(Prefetcher, IsNoFasterThanTheL1) {
  expect_near(
      chase_ns_per_load(
          512 << 10, kPmBase,
          {{"prefetch.streams", "4"}, {"prefetch.distance", "64"}, {"prefetch.registers", "64"}}),
      kL1);
}
// A store to each line of a working set, several rounds, with one demand miss at a time. A store
// that finds its line in flight uses a prefetched line, as a load does. Otherwise the next miss is
// beyond the stream, which has to be found again: the lines then take 2.5 times as long.
TEST(Prefetcher, KeepsItsRegistersInUseForStores) {
  const std::uint64_t lines = (2 << 20) / 64;
  const double ns = steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        for (int round = 0; round < rounds; ++round) {
          for (std::uint64_t i = 0; i < lines; ++i) builder.store(store, kPmBase + i * 64, 1);
        }
      },
      3,
      round_machine({{"core.mshrs", "1"},
                     {"prefetch.streams", "4"},
                     {"prefetch.distance", "32"},
                     {"prefetch.registers", "20"},
                     {"pm.interleaving", "line"},
                     {"pm.banks_per_rank", "64"},
                     {"pm.write_latency", "0ns"}}));
  const double all_in_use = (kWayDown + kPmRead) / (20 + 1);
  EXPECT_GT(ns / static_cast<double>(lines), all_in_use);
  EXPECT_LT(ns / static_cast<double>(lines), 1.2 * all_in_use);
}
// Dependent loads, of a line of each of so many pages, which all stay in the L1.
double page_chase_ns_per_load(int pages, const std::vector<KeyValue>& tlb) {
  return steady_ns(
             [&](TraceBuilder& builder, int rounds) {
               const std::uint32_t load =
                   builder.site(SiteKind::kLoad, 8, 1, {trace::kBuiltinSites << 8});
               for (int i = 0; i < rounds * pages; ++i) {
                 builder.access(load, kPmBase + static_cast<std::uint64_t>(i % pages) * kOtherBank);
               }
             },
             20, round_machine(tlb)) /
         pages;
}
TEST(Prefetcher, FindsNoStreamInDistantPages) {
  const double ns = page_chase_ns_per_load(4096, {});
  EXPECT_EQ(page_chase_ns_per_load(4096, {{"prefetch.streams", "4"}}), ns);
}

const std::vector<KeyValue> kTlb16And64{{"tlb.entries", "16"},
                                        {"tlb.ways", "4"},
                                        {"tlb.second_entries", "64"},
                                        {"tlb.second_ways", "4"},
                                        {"tlb.second_latency", "7cycles"},
                                        {"tlb.walk_latency", "40cycles"}};
TEST(Tlb, NoTlbTakesNoTime) { expect_near(page_chase_ns_per_load(128, {}), kL1); }
TEST(Tlb, PagesInTheFirstLevelTakeNoTime) {
  expect_near(page_chase_ns_per_load(16, kTlb16And64), kL1);
}
TEST(Tlb, PagesInTheSecondLevelAddItsLatency) {
  expect_near(page_chase_ns_per_load(32, kTlb16And64), kL1 + 7);
}
TEST(Tlb, MissingPagesAddAPageWalk) {
  expect_near(page_chase_ns_per_load(128, kTlb16And64), kL1 + 7 + 40);
}
TEST(Tlb, WithoutASecondLevelAMissAddsOnlyAPageWalk) {
  expect_near(page_chase_ns_per_load(
                  32, {{"tlb.entries", "16"}, {"tlb.ways", "4"}, {"tlb.walk_latency", "40cycles"}}),
              kL1 + 40);
}
TEST(Tlb, LargePagesCoverMoreMemory) {
  std::vector<KeyValue> large = kTlb16And64;
  large.push_back({"tlb.page_size", "2MiB"});
  expect_near(page_chase_ns_per_load(128, large), kL1);
}
TEST(Tlb, AccessAcrossTwoPagesCountsBothMisses) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1u << 20));
  const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
  builder.access(load, kPmBase + 4096 - 4);  // pages 0 and 1
  builder.access(load, kPmBase + 4096);
  for (std::uint64_t page = 2; page < 18; ++page) builder.access(load, kPmBase + page * 4096);
  builder.access(load, kPmBase);  // has left the first, not the second
  const RunResult result = run_trace(builder, round_machine(kTlb16And64));
  EXPECT_EQ(statistic(result, "core.page_walks"), 1 + 16);
  EXPECT_EQ(statistic(result, "core.tlb_misses"), 1 + 16 + 1);
}
TEST(Tlb, StoresWaitForPageWalks) {
  // Page walks overlap, at most as many at a time as the store queue has entries.
  const double ns = steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        for (int i = 0; i < rounds * 128; ++i) {
          builder.store(store, kPmBase + static_cast<std::uint64_t>(i % 128) * kOtherBank, 1);
        }
      },
      20,
      round_machine(
          {{"tlb.entries", "16"}, {"tlb.ways", "4"}, {"tlb.walk_latency", "1600cycles"}}));
  expect_near(ns / 128, 1600 / 16.0);
}

// Returns the time of independent loads of uncached lines, which are `instructions` apart.
double independent_misses(std::uint64_t stride, int instructions, const std::vector<Setting>& list,
                          std::uint64_t base = kPmBase) {
  return steady_ns(
      [&](TraceBuilder& builder, int loads) {
        const std::uint32_t load =
            builder.site(SiteKind::kLoad, 8, static_cast<std::uint32_t>(instructions));
        for (int i = 0; i < loads; ++i) {
          builder.access(load, base + static_cast<std::uint64_t>(i) * stride);
        }
      },
      2000, list);
}

TEST(IndependentMisses, PmMissesAreLimitedByTheMshrs) {
  // A register is in use from the request's leaving the private caches until the data arrive.
  for (const auto& [text, mshrs] : {std::pair{"2", 2.0}, {"4", 4.0}, {"8", 8.0}}) {
    expect_near(independent_misses(kOtherBank, 1, round_machine({{"core.mshrs", text}})),
                (kSharedTags + kPmRead) / mshrs);
  }
}
TEST(IndependentMisses, DramMissesAreLimitedByTheMshrs) {
  expect_near(
      independent_misses(kOtherBank, 1, round_machine({{"core.mshrs", "4"}, {"dram.trefi", "0ps"}}),
                         kDramBase),
      // Two pages share a row: one finds it open, the other has to close the row before.
      (kSharedTags + 14.16 + (14.16 + 14.16) / 2 + 3.332 + 10 + 10) / 4);
}
TEST(IndependentMisses, SharedCacheHitsAreLimitedByTheMshrs) {
  const double ns = steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
        for (int round = 0; round < rounds; ++round) {
          for (std::uint64_t i = 0; i < 8192; ++i) builder.access(load, kPmBase + i * 64);
        }
      },
      4, round_machine({{"core.mshrs", "2"}}));
  expect_near(ns / 8192, kShared / 2);
}
TEST(IndependentMisses, AreLimitedByTheReorderBuffer) {
  // 16 instructions a load: four fit. The next is dispatched, at 4 a cycle, when the oldest
  // retires.
  expect_near(independent_misses(kOtherBank, 16, round_machine({{"core.mshrs", "16"}})),
              (kWayDown + kPmRead + 16 / 4.0) / 4);
}
TEST(IndependentMisses, AreLimitedByTheLoadQueue) {
  expect_near(
      independent_misses(kOtherBank, 1,
                         round_machine({{"core.mshrs", "16"}, {"core.load_queue_entries", "5"}})),
      (kWayDown + kPmRead) / 5);
}
TEST(IndependentMisses, MissesToOnePmBankAreSerialized) {
  expect_near(independent_misses(16 * 4096, 1, round_machine()), kPmRead);
}
TEST(IndependentMisses, MissesToOneDramBankTakeARowCycleEach) {
  // 8 KiB rows: tRAS + tRP between two activates of a bank.
  expect_near(independent_misses(16 * 8192, 1, round_machine({{"dram.trefi", "0ps"}}), kDramBase),
              32 + 14.16);
}
TEST(IndependentMisses, PageInterleavingSharesABankAndLineInterleavingDoesNot) {
  const auto time = [](std::string_view interleaving) {
    return independent_misses(
        64, 1, round_machine({{"core.mshrs", "2"}, {"pm.interleaving", interleaving}}));
  };
  expect_near(time("page"), kPmRead);
  expect_near(time("line"), (kSharedTags + kPmRead) / 2);
}
TEST(IndependentMisses, StreamReachesTheBandwidthOfTheChannels) {
  for (const auto& [controllers, channels, all] :
       {std::tuple{"1", "1", 1.0}, {"2", "1", 2.0}, {"2", "2", 4.0}}) {
    expect_near(independent_misses(64, 1,
                                   round_machine({{"core.mshrs", "128"},
                                                  {"core.rob_entries", "512"},
                                                  {"core.load_queue_entries", "512"},
                                                  {"pm.controllers", controllers},
                                                  {"pm.channels_per_controller", channels},
                                                  {"pm.interleaving", "line"},
                                                  {"pm.read_latency", "20ns"}})),
                3.332 / all);
  }
}
TEST(IndependentMisses, StreamReachesTheBandwidthOfTheLink) {
  expect_near(independent_misses(64, 1,
                                 round_machine({{"core.mshrs", "64"},
                                                {"core.rob_entries", "512"},
                                                {"core.load_queue_entries", "512"},
                                                {"pm.interleaving", "line"},
                                                {"pm.read_latency", "20ns"},
                                                {"pm.link_latency", "50ns"},
                                                {"pm.link_bandwidth", "6.4GB/s"}})),
              64 / 6.4);
}
TEST(IndependentMisses, AccessAcrossTwoLinesFetchesBoth) {
  // Two registers a load.
  const double ns = steady_ns(
      [&](TraceBuilder& builder, int loads) {
        const std::uint32_t load = builder.site(SiteKind::kLoad, 16);
        for (int i = 0; i < loads; ++i) {
          builder.access(load, kPmBase + 56 + static_cast<std::uint64_t>(i) * 192);
        }
      },
      1000, round_machine({{"pm.interleaving", "line"}}));
  expect_near(ns, 2 * (kSharedTags + kPmRead) / 8);
}

TEST(Pipeline, RetiresItsWidthPerCycle) {
  const double ns = steady_ns(
      [](TraceBuilder& builder, int loads) {
        const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 3);
        for (int i = 0; i < loads; ++i) builder.access(load, kPmBase + i % 64 * 8);
      },
      10000, round_machine());
  expect_near(ns, 3 / 4.0);
}
TEST(Pipeline, DependenceChainsTakeTheirLatencies) {
  const double ns = steady_ns(
      [](TraceBuilder& builder, int loads) {
        const std::uint32_t load =
            builder.site(SiteKind::kLoad, 8, 2, {(trace::kBuiltinSites << 8) | 7});
        for (int i = 0; i < loads; ++i) builder.access(load, kPmBase);
      },
      10000, round_machine());
  expect_near(ns, kL1 + 7);
}
// Returns the time of a round of a loop of three instructions. Each round computes a value from the
// last round's value; every `length` rounds this recurrence restarts.
double recurrence_ns_per_round(std::uint32_t cycles, int length,
                               std::string_view division = "26cycles") {
  return steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t value =
            builder.site(SiteKind::kRecurrence, 0, 0, {}, {(trace::kBuiltinSites << 8) | cycles});
        const std::uint32_t branch = builder.site(SiteKind::kBranch, 0, 3);
        for (int i = 0; i < rounds; ++i) {
          builder.recurrence(value, i % length > 0);
          builder.branch(branch, true);
        }
      },
      20000, round_machine({{"core.rob_entries", "256"}, {"core.division_latency", division}}));
}
TEST(Recurrence, TakesTheDivisionLatencyOfTheMachine) {
  constexpr int kNeverAnew = 1 << 20;
  // A division and an addition, and a division of 64 bits.
  expect_near(recurrence_ns_per_round(27 | trace::kDivides, kNeverAnew, "11cycles"), 12);
  expect_near(recurrence_ns_per_round(35 | trace::kDivides, kNeverAnew, "11cycles"), 20);
  expect_near(recurrence_ns_per_round(27 | trace::kDivides, kNeverAnew), 27);
  expect_near(recurrence_ns_per_round(27, kNeverAnew, "11cycles"), 27);
}
TEST(Recurrence, TakesItsLatencyInEachIteration) {
  constexpr int kNeverAnew = 1 << 20;
  for (const std::uint32_t cycles : {2, 4, 26}) {
    expect_near(recurrence_ns_per_round(cycles, kNeverAnew), cycles);
  }
}
TEST(Recurrence, RestartedRecurrenceOverlapsWithThePreviousLoop) {
  // The window has room for 21 loops, and 12 of them hide the latency of one.
  expect_near(recurrence_ns_per_round(12, 4), 3 / 4.0);
}
TEST(Recurrence, DelaysTheOperationsThatUseItsValue) {
  // The next value is that of a load from the address that is the previous value.
  const double ns = steady_ns(
      [](TraceBuilder& builder, int rounds) {
        const std::uint32_t load = trace::kBuiltinSites + 1;
        const std::uint32_t value =
            builder.site(SiteKind::kRecurrence, 0, 0, {}, {(load << 8) | 3});
        builder.site(SiteKind::kLoad, 8, 3, {(value << 8) | 5});
        for (int i = 0; i < rounds; ++i) {
          builder.recurrence(value, true);
          builder.access(load, kPmBase);
        }
      },
      5000, round_machine());
  expect_near(ns, 5 + kL1 + 3);
}
TEST(Pipeline, MispredictedBranchesCostTheirExecutionAndThePenalty) {
  double mispredicted = 0;
  double time = 0;
  constexpr int kBranches = 20000;
  {
    TraceBuilder builder;
    std::mt19937 random(1);
    const std::uint32_t branch = builder.site(SiteKind::kBranch, 0, 2);
    for (int i = 0; i < kBranches; ++i) builder.branch(branch, random() % 2 == 0);
    const RunResult result =
        run_trace(builder, round_machine({{"core.branch_penalty", "20cycles"}}));
    mispredicted = statistic(result, "core.mispredicted_branches");
    time = nanoseconds(result);
  }
  EXPECT_NEAR(mispredicted, kBranches / 2.0, kBranches * 0.05);
  expect_near(time, mispredicted * (1 + 20) + kBranches * 2 / 4.0);
}
// Returns statistics of 20,000 indirect branches to these targets.
RunResult run_indirect_branches(const std::function<std::uint32_t(int)>& target_of) {
  TraceBuilder builder;
  const std::uint32_t branch = builder.site(SiteKind::kIndirectBranch, 0, 2);
  for (int i = 0; i < 20000; ++i) builder.indirect_branch(branch, target_of(i));
  return run_trace(builder, round_machine({{"core.branch_penalty", "20cycles"}}));
}
TEST(Pipeline, MispredictedTargetsCostTheirExecutionAndThePenalty) {
  std::mt19937 random(1);
  const RunResult result = run_indirect_branches([&](int) { return random() % 4; });
  const double mispredicted = statistic(result, "core.mispredicted_targets");
  EXPECT_EQ(statistic(result, "core.indirect_branches"), 20000);
  EXPECT_EQ(statistic(result, "core.branches"), 0);
  EXPECT_NEAR(mispredicted, 20000 * 0.75, 20000 * 0.02);
  expect_near(nanoseconds(result), mispredicted * (1 + 20) + 20000 * 2 / 4.0);
}
TEST(Pipeline, RepeatedTargetsCostNothing) {
  const RunResult result =
      run_indirect_branches([](int i) { return static_cast<std::uint32_t>(i % 5); });
  EXPECT_LT(statistic(result, "core.mispredicted_targets"), 50);
  expect_near(nanoseconds(result), 20000 * 2 / 4.0);
}
// Returns statistics of rounds of nested calls, each from its own site.
RunResult run_nested_calls(int rounds, std::uint32_t depth) {
  TraceBuilder builder;
  std::vector<std::uint32_t> calls, begins, ends;
  for (std::uint32_t i = 0; i < depth; ++i) {
    const auto site = [&](std::uint8_t flags) {
      return builder.site(SiteKind::kExecute, 0, 8, {}, {}, 0, flags);
    };
    calls.push_back(site(0));
    begins.push_back(site(trace::kSiteEntry));
    ends.push_back(site(trace::kSiteExit));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::uint32_t i = 0; i < depth; ++i) {
      builder.plain(calls[i]);
      builder.plain(begins[i]);
    }
    for (std::uint32_t i = depth; i > 0; --i) builder.plain(ends[i - 1]);
  }
  return run_trace(builder, round_machine({{"core.branch_penalty", "20cycles"},
                                           {"core.return_stack_entries", "8"}}));
}
TEST(Pipeline, ReturnsOfCallsThatTheReturnStackHasLostCostThePenalty) {
  const RunResult shallow = run_nested_calls(100, 8), deep = run_nested_calls(100, 10);
  EXPECT_EQ(statistic(shallow, "core.returns"), 800);
  EXPECT_EQ(statistic(shallow, "core.mispredicted_returns"), 0);
  expect_near(nanoseconds(shallow), 100 * 8 * 3 * 8 / 4.0);
  EXPECT_EQ(statistic(deep, "core.mispredicted_returns"), 200);
  expect_near(nanoseconds(deep), 100 * 10 * 3 * 8 / 4.0 + 200 * (1 + 20));
}
TEST(Pipeline, PredictableBranchesCostNothing) {
  TraceBuilder builder;
  const std::uint32_t branch = builder.site(SiteKind::kBranch, 0, 2);
  for (int i = 0; i < 20000; ++i) builder.branch(branch, i % 5 != 0);
  expect_near(nanoseconds(run_trace(builder, round_machine())), 20000 * 2 / 4.0);
}
TEST(Pipeline, LoadsTakeTheirValueFromTheStoreQueue) {
  // x = x + 1 in memory: the load waits for the store before it, though that store may long have
  // been worked out; store's execution, forwarding, an addition of one cycle.
  const double ns = steady_ns(
      [](TraceBuilder& builder, int rounds) {
        const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
        const std::uint32_t store = builder.site(SiteKind::kStore, 8, 2, {}, {(load << 8) | 1});
        for (int i = 0; i < rounds; ++i) {
          builder.access(load, kPmBase);
          builder.store(store, kPmBase, 1);
        }
      },
      5000, round_machine({{"core.forward_latency", "6cycles"}}));
  expect_near(ns, 6 + 1 + 1);
}
TEST(Pipeline, ForwardedLoadsOfAChainTakeTheForwardLatency) {
  // The value has been in the store queue (behind a miss) for long; the loads' addresses depend on
  // each other.
  constexpr int kLoads = 40;
  const auto time = [](int loads) {
    TraceBuilder builder;
    const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 1, {trace::kBuiltinSites << 8});
    const std::uint32_t store = builder.site(SiteKind::kStore, 8);
    builder.pm_region(kPmBase, kPmBase + (1u << 30));
    builder.store(store, kPmBase + 4096, 1);
    builder.store(store, kPmBase, 1);
    for (int i = 0; i < loads; ++i) builder.access(load, kPmBase);
    // Too long for the store queue to be what the run waits for.
    const std::uint32_t add = builder.site(SiteKind::kLoad, 8, 1, {(load << 8) | 250});
    for (int i = 0; i < 2; ++i) builder.access(add, kPmBase);
    return nanoseconds(run_trace(builder, round_machine()));
  };
  expect_near(time(kLoads) - time(kLoads / 2), kLoads / 2 * 4.0);
}

TEST(Stores, MissingStoresAreLimitedByTheStoreQueue) {
  // Each asks for its line (request for ownership) in the cycle after its dispatch, when it
  // retires; the line comes, the store leaves, its place is free for the next.
  const double ns = steady_ns(
      [](TraceBuilder& builder, int stores) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        for (int i = 0; i < stores; ++i) {
          builder.store(store, kPmBase + static_cast<std::uint64_t>(i) * kOtherBank, 1);
        }
      },
      2000, round_machine({{"core.store_queue_entries", "4"}}));
  expect_near(ns, (1 + kWayDown + kPmRead) / 4);
}
TEST(Stores, MissingStoresAreLimitedByTheMshrs) {
  const double ns = steady_ns(
      [](TraceBuilder& builder, int stores) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        for (int i = 0; i < stores; ++i) {
          builder.store(store, kPmBase + static_cast<std::uint64_t>(i) * kOtherBank, 1);
        }
      },
      2000, round_machine({{"core.store_queue_entries", "32"}, {"core.mshrs", "4"}}));
  expect_near(ns, (kSharedTags + kPmRead) / 4);
}
TEST(Stores, StoresThatHitTheL1LeaveOnePerCycle) {
  for (const std::uint64_t base : {kPmBase, kDramBase}) {
    const double ns = steady_ns(
        [&](TraceBuilder& builder, int stores) {
          const std::uint32_t store = builder.site(SiteKind::kStore, 8);
          for (int i = 0; i < stores; ++i) builder.store(store, base + i % 512 * 8, 1);
        },
        10000, round_machine());
    expect_near(ns, 1);
  }
}

// 512 bytes of L1, four lines of the L2 in turn: in order, or to and fro. A line is looked up when
// its first store retires, not when that is the oldest.
TEST(Stores, StoresThatHitTheL2LeaveOnePerCycle) {
  for (const bool to_and_fro : {false, true}) {
    const double ns = steady_ns(
        [&](TraceBuilder& builder, int rounds) {
          const std::uint32_t store = builder.site(SiteKind::kStore, 8);
          for (int round = 0; round < rounds; ++round) {
            const std::uint64_t lines = kDramBase + static_cast<std::uint64_t>(round) % 64 * 128;
            for (int i = 0; i < 16; ++i) {
              builder.store(store, lines + (to_and_fro ? i % 2 * 64 + i / 2 * 8 : i * 8), 1);
            }
          }
        },
        2000, round_machine({{"l1.size", "512B"}, {"l2.size", "64KiB"}, {"l2.latency", "10ns"}}));
    expect_near(ns, 16);
  }
}

// Rounds of: store and clwb to each of `lines` lines, sfence.
double persist_round(int lines, std::initializer_list<KeyValue> more) {
  return steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        const std::uint32_t flush = builder.site(SiteKind::kFlush);
        const std::uint32_t fence = builder.site(SiteKind::kFence);
        for (int round = 0; round < rounds; ++round) {
          for (int i = 0; i < lines; ++i) builder.store(store, kPmBase + i * 64u, 1);
          for (int i = 0; i < lines; ++i) builder.access(flush, kPmBase + i * 64u);
          builder.plain(fence);
        }
      },
      500, round_machine(more));
}
TEST(Persist, RoundTripIsStoreFlushAndFence) {
  expect_near(persist_round(1, {}), 1 + kWayDown + 1);
}
TEST(Persist, PathAndControllerAddTheirLatencies) {
  expect_near(persist_round(1, {{"path.request_latency", "40ns"},
                                {"path.response_latency", "30ns"},
                                {"pm.front_latency", "20ns"}}),
              1 + kWayDown + 40 + 20 + 30 + 1);
}
TEST(Persist, FlushAddsItsConfiguredLatency) {
  expect_near(persist_round(1, {{"path.flush_latency", "110ns"}}), 1 + kWayDown + 110 + 1);
}
TEST(Persist, ClwbThatEvictsDelaysTheNextStore) {
  // The next store fetches the line from the WPQ, where it is in flight.
  expect_near(persist_round(1, {{"core.clwb_evicts", "true"}}), 1 + kWayDown + 1 + kWayDown);
}
TEST(Persist, FlushesOverlapInTheirConfiguredLatency) {
  expect_near(persist_round(16, {{"path.flush_latency", "110ns"}, {"core.mshrs", "16"}}),
              16 + 16 + kWayDown + 110);
}
TEST(Persist, FlushesLeaveAtTheirInterval) {
  expect_near(persist_round(16, {{"core.flush_interval", "30ns"}, {"core.mshrs", "16"}}),
              16 + 15 * 30 + 1 + kWayDown);
  // A single flush of a round does not wait: the round trip is longer than the interval.
  expect_near(persist_round(1, {{"core.flush_interval", "20ns"}}), 1 + kWayDown + 1);
}
TEST(Persist, FlushesBeforeOneFenceOverlap) {
  expect_near(persist_round(16, {{"core.mshrs", "16"}}), 16 + 16 + kWayDown);
}
TEST(Persist, PersistenceWrittenWaitsForTheBank) {
  expect_near(persist_round(1, {{"pm.persistence", "written"}}), 1 + kWayDown + 3.332 + 100 + 1);
}
TEST(Persist, LinkLatencyCountsOnlyWithQueuesInTheDevice) {
  expect_near(persist_round(1, {{"pm.link_latency", "100ns"}, {"pm.queue_place", "host"}}),
              1 + kWayDown + 1);
  expect_near(persist_round(1, {{"pm.link_latency", "100ns"}, {"pm.queue_place", "device"}}),
              1 + kWayDown + 2 * 100 + 1);
}
TEST(Persist, FullWpqPassesTheBandwidthOfTheBanks) {
  // More lines than the WPQ holds, so that nothing merges, all in the L2 from the start.
  constexpr std::uint64_t kLines = 2048;
  const double ns = steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        const std::uint32_t flush = builder.site(SiteKind::kFlush);
        const std::uint32_t fence = builder.site(SiteKind::kFence);
        for (std::uint64_t i = 0; i < kLines; ++i) builder.warm(kPmBase + i * 64, 0);
        for (int round = 0; round < rounds; ++round) {
          for (std::uint64_t i = 0; i < kLines; ++i) {
            builder.store(store, kPmBase + i * 64, 1);
            builder.access(flush, kPmBase + i * 64);
            if (i % 16 == 15) builder.plain(fence);
          }
        }
      },
      3, round_machine({{"pm.interleaving", "line"}, {"pm.write_latency", "300ns"}}));
  expect_near(ns / kLines, (300 + 3.332) / 16);
}
double non_temporal_round(std::uint64_t words, std::initializer_list<KeyValue> more = {}) {
  return steady_ns(
      [&](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kNonTemporal, 8);
        const std::uint32_t fence = builder.site(SiteKind::kFence);
        for (int round = 0; round < rounds; ++round) {
          for (std::uint64_t word = 0; word < words; ++word) {
            builder.store(store, kPmBase + word * 8, 1);
          }
          builder.plain(fence);
        }
      },
      500, round_machine(more));
}
TEST(Persist, NonTemporalStoresBypassThePrivateCaches) {
  expect_near(non_temporal_round(1), kSharedTags + 1);
}
TEST(Persist, NonTemporalStoresAddNoFlushLatency) {
  expect_near(non_temporal_round(1, {{"path.flush_latency", "110ns"}}), kSharedTags + 1);
}
TEST(Persist, NonTemporalLinesAddTheirConfiguredLatency) {
  expect_near(non_temporal_round(8, {{"path.nontemporal_latency", "110ns"}}),
              7 + kSharedTags + 110 + 1);
  expect_near(persist_round(1, {{"path.nontemporal_latency", "110ns"}}), 1 + kWayDown + 1);
}
TEST(Persist, NonTemporalStoresOfALineAreCombined) {
  expect_near(non_temporal_round(8), 7 + kSharedTags + 1);
}

// The time of a flush where each thread flushes lines of its own, which are in its L1, without a
// fence.
double flushes_without_fence(const std::vector<KeyValue>& more, std::uint32_t threads = 1) {
  std::vector<KeyValue> settings{{"pm.write_latency", "0ns"},
                                 {"path.request_latency", "100ns"},
                                 {"path.response_latency", "80ns"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return steady_ns(
      [threads](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        const std::uint32_t flush = builder.site(SiteKind::kFlush);
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
          builder.thread(thread);
          for (int i = 0; i < rounds; ++i) {
            const std::uint64_t line = kPmBase + thread * 4096 + static_cast<unsigned>(i % 16) * 64;
            builder.store(store, line, 1);
            builder.access(flush, line);
          }
        }
      },
      2000, round_machine(settings));
}
constexpr double kFlushTrip = kWayDown + 100 + 80;
TEST(Persist, FlushesInFlightAreLimitedByTheMissRegisters) {
  expect_near(flushes_without_fence({{"core.mshrs", "1"}}), kFlushTrip);
  expect_near(flushes_without_fence({{"core.mshrs", "4"}}), kFlushTrip / 4);
}
TEST(Persist, FlushesInFlightAreLimitedByTheFlushRegisters) {
  expect_near(flushes_without_fence({{"core.mshrs", "1"}, {"core.flush_registers", "4"}}),
              kFlushTrip / 4);
}
TEST(Persist, LogicalProcessorsShareTheRegistersOfTheirCore) {
  const KeyValue registers{"core.mshrs", "4"}, threads{"core.threads_per_core", "2"};
  expect_near(flushes_without_fence({registers}, 2), kFlushTrip / 4);
  expect_near(flushes_without_fence({registers, threads}, 2), kFlushTrip / 2);
  // A thread alone has the whole core.
  expect_near(flushes_without_fence({registers, threads}), kFlushTrip / 4);
}
TEST(Persist, LogicalProcessorsShareTheFlushIntervalOfTheirCore) {
  const KeyValue interval{"core.flush_interval", "50ns"}, threads{"core.threads_per_core", "2"};
  expect_near(flushes_without_fence({interval, threads}), 50);
  expect_near(flushes_without_fence({interval, threads}, 2), 100);
}
// Stores to many lines without a fence: a buffer is in use for the way to the controller and back.
TEST(Persist, NonTemporalLinesInFlightAreLimitedByTheBuffers) {
  for (const std::string_view buffers : {"1", "4"}) {
    const double ns = steady_ns(
        [](TraceBuilder& builder, int rounds) {
          const std::uint32_t store = builder.site(SiteKind::kNonTemporal, 8);
          for (std::uint64_t i = 0; i < 8 * static_cast<std::uint64_t>(rounds); ++i) {
            builder.store(store, kPmBase + i * 8, 1);
          }
        },
        2000,
        round_machine({{"core.write_combining_buffers", buffers},
                       {"pm.write_latency", "0ns"},
                       {"path.request_latency", "100ns"},
                       {"path.response_latency", "80ns"}}));
    const double collected = buffers == "1" ? 7 : 0;  // while others are in flight
    expect_near(ns, (collected + kSharedTags + 100 + 80 + 1) / std::stoi(std::string(buffers)));
  }
}

TEST(Serialising, LockedInstructionsTakeTheirLatencyOneByOne) {
  const double ns = steady_ns(
      [](TraceBuilder& builder, int rounds) {
        const std::uint32_t add = builder.site(SiteKind::kAtomicUpdate, 8);
        for (int i = 0; i < rounds; ++i) {
          builder.atomic(add, kDramBase, 0, static_cast<std::uint32_t>(i + 1), 1, true);
        }
      },
      2000, round_machine());
  expect_near(ns, 1 + 18);  // the write to the L1 and core.locked_latency
}
TEST(Serialising, LoadsWaitForFullFences) {
  const double ns = steady_ns(
      [](TraceBuilder& builder, int rounds) {
        const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
        const std::uint32_t fence = builder.site(SiteKind::kFence, 0, 1, {}, {},
                                                 static_cast<std::uint8_t>(FenceKind::kMfence));
        for (int i = 0; i < rounds; ++i) {
          builder.access(load, kDramBase);
          builder.plain(fence);
        }
      },
      2000, round_machine());
  expect_near(ns, kL1 + 0.25 + 1);  // a load, the fence's turn to retire, the fence
}

TEST(Serialising, FullFencesDelayTheLoadsAfterAPersist) {
  // A chain of loads: beside the round trip behind sfence, after it behind mfence.
  constexpr int kLoads = 20;
  const auto round = [](FenceKind kind, std::string_view full_fences,
                        std::string_view ordering = "x86") {
    return steady_ns(
        [kind](TraceBuilder& builder, int rounds) {
          builder.pm_region(kPmBase, kPmBase + 4096);
          const std::uint32_t store = builder.site(SiteKind::kStore, 8);
          const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
          const std::uint32_t flush = builder.site(SiteKind::kFlush);
          const std::uint32_t fence =
              builder.site(SiteKind::kFence, 0, 1, {}, {}, static_cast<std::uint8_t>(kind));
          for (int i = 0; i < rounds; ++i) {
            builder.store(store, kPmBase, 1);
            builder.access(flush, kPmBase);
            builder.plain(fence);
            for (int j = 0; j < kLoads; ++j) builder.access(load, kDramBase);
          }
        },
        500, round_machine({{"core.full_fences", full_fences}, {"ordering", ordering}}));
  };
  const double full = round(FenceKind::kMfence, "false");
  EXPECT_GT(full, round(FenceKind::kSfence, "false") + kL1);
  expect_near(round(FenceKind::kSfence, "true"), full);
  // DPO runs the program of x86. dfence and spec-barrier replace its fences, and stall no loads.
  EXPECT_GT(round(FenceKind::kSfence, "true", "dpo"), round(FenceKind::kSfence, "false", "dpo"));
  for (const std::string_view own : {"hops", "pmem-spec"}) {
    EXPECT_EQ(round(FenceKind::kSfence, "true", own), round(FenceKind::kSfence, "false", own));
    EXPECT_LT(round(FenceKind::kSfence, "true", own), full);
  }
}

// A store that misses, which a locked instruction or a lock waits for, and a chain of loads behind.
double loads_behind(SiteKind kind, std::string_view pass, int loads,
                    std::string_view atomicity = "none") {
  return steady_ns(
      [=](TraceBuilder& builder, int rounds) {
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        const std::uint32_t add = builder.site(SiteKind::kAtomicUpdate, 8);
        const std::uint32_t first = builder.site(SiteKind::kLoad, 8);
        const std::uint32_t next = builder.site(SiteKind::kLoad, 8, 1, {first << 8});
        const std::uint32_t last = builder.site(SiteKind::kLoad, 8, 1, {next << 8});
        const std::uint32_t fence = builder.site(SiteKind::kFence, 0, 1, {}, {},
                                                 static_cast<std::uint8_t>(FenceKind::kMfence));
        std::uint32_t version = 0;
        for (int i = 0; i < rounds; ++i) {
          builder.store(store, kPmBase + static_cast<std::uint64_t>(i) * kOtherBank, 1);
          if (kind == SiteKind::kAtomicUpdate) {
            builder.atomic(add, kDramBase, 0, version + 1, 1, true);
            ++version;
          } else if (kind == SiteKind::kSync) {
            builder.sync(SyncKind::kMutexLock, kDramBase, 0, version++);
            builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, version);
          } else {
            builder.plain(fence);
          }
          for (int j = 0; j < loads; j += 3) {
            for (const std::uint32_t load : {first, next, last}) {
              builder.access(load, kDramBase + 64);
            }
          }
        }
      },
      500, round_machine({{"core.loads_pass_locks", pass}, {"atomicity", atomicity}}));
}
TEST(LoadsBehindLocks, LoadsWaitForLocksInDesignsThatTrackLoads) {
  const auto time = [](std::string_view pass, std::string_view atomicity) {
    return loads_behind(SiteKind::kAtomicUpdate, pass, 30, atomicity);
  };
  EXPECT_EQ(time("true", "asap"), time("false", "asap"));
  EXPECT_LT(time("true", "hw-undo"), time("false", "hw-undo"));
}
TEST(LoadsBehindLocks, LoadsWaitForLocks) {
  for (const SiteKind kind : {SiteKind::kAtomicUpdate, SiteKind::kSync}) {
    expect_near(loads_behind(kind, "false", 3) - loads_behind(kind, "false", 0), 3 * kL1);
  }
}
TEST(LoadsBehindLocks, LoadsPassLocksIfConfigured) {
  for (const SiteKind kind : {SiteKind::kAtomicUpdate, SiteKind::kSync}) {
    expect_near(loads_behind(kind, "true", 3), loads_behind(kind, "false", 0));
  }
}
TEST(LoadsBehindLocks, LoadsNeverPassFullFences) {
  expect_near(loads_behind(SiteKind::kFence, "true", 3),
              loads_behind(SiteKind::kFence, "false", 3));
  EXPECT_GT(loads_behind(SiteKind::kFence, "true", 3), loads_behind(SiteKind::kFence, "true", 0));
}

// Threads that take one lock in turn and keep it while they execute `cycles` of instructions.
double handover(std::uint32_t threads, std::uint32_t cycles, std::string_view order,
                std::string_view barrier) {
  return steady_ns(
             [&](TraceBuilder& builder, int rounds) {
               const std::uint32_t work = builder.site(SiteKind::kExecute, 0, cycles * 4);
               std::uint32_t version = 0;
               for (int i = 0; i < rounds; ++i) {
                 for (std::uint32_t thread = 0; thread < threads; ++thread) {
                   builder.thread(thread);
                   builder.sync(SyncKind::kMutexLock, kDramBase, 0, version++);
                   builder.plain(work);
                   builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, version);
                 }
               }
             },
             300, round_machine({{"run.lock_order", order}, {"core.lock_order", barrier}})) /
         threads;
}
TEST(Locks, HandoverTakesACoherenceMiss) {
  for (const std::uint32_t threads : {2u, 4u}) {
    for (const std::string_view order : {"recorded", "simulated"}) {
      for (const std::uint32_t cycles : {50u, 400u}) {
        // The next core's locked instruction finds the line in the core before: its own look-ups,
        // the shared cache, the snoop. Then the critical section, then the unlock.
        const double lock = (kL1Tags + kL2Tags + kShared + 18) + 18;
        expect_near(handover(threads, cycles, order, "x86"), lock + cycles + (1 + 18));
        // ARM's unlock is a store.
        expect_near(handover(threads, cycles, order, "arm"), lock + cycles + 1);
      }
    }
  }
}

// The end of a loop that waits for another thread's atomic store: what follows was not predicted.
TEST(SpinLoops, LoadsAfterASpinLoopWaitForItsEnd) {
  const auto time = [](bool loads) {
    return steady_ns(
        [loads](TraceBuilder& builder, int rounds) {
          const std::uint32_t work = builder.site(SiteKind::kExecute, 0, 400);
          const std::uint32_t give = builder.site(SiteKind::kAtomicStore, 8);
          const std::uint32_t wait = builder.site(SiteKind::kAtomicLoad, 8);
          const std::uint32_t load = builder.site(SiteKind::kLoad, 8);
          std::uint32_t version = 0;
          for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(rounds); ++i) {
            for (const std::uint32_t thread : {0u, 1u}) {
              builder.thread(thread);
              if (version > 0) builder.atomic(wait, kDramBase, 0, version);
              if (loads) builder.access(load, kPmBase + i % 2048 * kOtherBank);
              builder.plain(work);
              ++version;
              builder.atomic(give, kDramBase, 0, version, version);
            }
          }
        },
        500, round_machine({{"shared.size", "64KiB"}, {"l2.size", "16KiB"}}));
  };
  // Both threads load a line; the second one finds it in the first one's caches.
  expect_near(time(true) - time(false), (kWayDown + kPmRead) + (kL1Tags + kL2Tags + kShared + 18));
}

// A store that misses under a lock, of which there are many.
double store_under_lock(std::string_view barrier, std::uint64_t lines) {
  return steady_ns(
      [lines](TraceBuilder& builder, int rounds) {
        constexpr std::uint32_t kLocks = 64;
        const std::uint32_t store = builder.site(SiteKind::kStore, 8);
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(rounds); ++i) {
          const std::uint32_t lock = i % kLocks, version = i / kLocks;
          builder.sync(SyncKind::kMutexLock, kDramBase + lock * 64, lock, version);
          builder.store(store, kPmBase + i % lines * kOtherBank, i);
          builder.sync(SyncKind::kMutexUnlock, kDramBase + lock * 64, lock, version + 1);
        }
      },
      2000, round_machine({{"core.lock_order", barrier}}));
}
TEST(Locks, X86LocksWaitForEarlierStores) {
  // The unlock for the store, the lock for the unlock.
  expect_near(store_under_lock("x86", 1), (1 + 18) + 1 + (1 + 18));
  expect_near(store_under_lock("x86", 1 << 20), (1 + 18) + kWayDown + kPmRead + (1 + 18));
}
TEST(Locks, ArmLocksDoNotWaitForEarlierStores) {
  expect_near(store_under_lock("arm", 1), 1 + 18);
  // Eight stores and their unlocks fill the store queue.
  expect_near(store_under_lock("arm", 1 << 20), std::max(1.0 + 18, (kWayDown + kPmRead) / 8));
}

TEST(Stores, StoresOneAtATimeTakeALatencyEach) {
  const auto store = [](std::uint64_t lines, std::string_view one_at_a_time) {
    return steady_ns(
        [lines](TraceBuilder& builder, int rounds) {
          const std::uint32_t site = builder.site(SiteKind::kStore, 8);
          for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rounds); ++i) {
            builder.store(site, kPmBase + i % lines * kOtherBank, i);
          }
        },
        2000, round_machine({{"core.one_store_at_a_time", one_at_a_time}}));
  };
  expect_near(store(1, "false"), 1);
  expect_near(store(1, "true"), kL1);
  expect_near(store(1 << 20, "true"), kWayDown + kPmRead);
  EXPECT_LT(store(1 << 20, "false"), (kWayDown + kPmRead) / 3);
}

// The stores of a region may still be in flight when its end retires; the time until they leave is
// reported, too.
TEST(Regions, DrainedTimeEndsWhenTheLastStoreLeaves) {
  const auto times = [](std::uint64_t lines) {
    constexpr int kRegions = 200;
    TraceBuilder builder;
    builder.pm_region(kPmBase, kPmBase + (std::uint64_t{1} << 32));
    builder.thread(0);
    const std::uint32_t work = builder.site(SiteKind::kExecute, 0, 4000);
    const std::uint32_t store = builder.site(SiteKind::kStore, 8);
    for (std::uint64_t i = 0; i < kRegions; ++i) {
      builder.mark(trace::MarkKind::kRegionBegin, 1);
      builder.store(store, kPmBase + i % lines * kOtherBank, i);
      builder.mark(trace::MarkKind::kRegionEnd, 1);
      builder.plain(work);
    }
    const RunResult result = run_trace(builder, round_machine());
    return std::pair(statistic(result, "core.region_time_ns") / kRegions,
                     statistic(result, "core.drained_region_time_ns") / kRegions);
  };
  const auto [hit, hit_drained] = times(1);
  EXPECT_LT(hit, 2);
  EXPECT_NEAR(hit_drained - hit, 1, 1.5);
  const auto [miss, miss_drained] = times(1 << 20);
  EXPECT_LT(miss, 2);
  expect_near(miss_drained - miss, kWayDown + kPmRead);
}

// Pages that lie in one bank at their addresses, read one after the other; at random, two that are
// read at a time lie in different banks.
double pages_of_one_bank(std::string_view placement, std::string_view instances,
                         std::string_view mshrs) {
  return independent_misses(64 * 4096, 1,
                            round_machine({{"pages.placement", placement},
                                           {"run.instances", instances},
                                           {"core.mshrs", mshrs},
                                           {"pm.controllers", "1"},
                                           {"pm.channels_per_controller", "1"},
                                           {"pm.ranks", "1"},
                                           {"pm.banks_per_rank", "64"},
                                           {"pm.page_size", "4KiB"}}));
}
TEST(PagePlacement, RandomPlacementSpreadsPagesOverBanks) {
  expect_near(pages_of_one_bank("contiguous", "1", "2"), kPmRead);
  expect_near(pages_of_one_bank("random", "1", "2"), (kSharedTags + kPmRead) / 2);
}
TEST(PagePlacement, RandomPlacementAvoidsBankConflictsOfInstances) {
  expect_near(pages_of_one_bank("contiguous", "2", "1"), 2 * kPmRead);
  expect_near(pages_of_one_bank("random", "2", "1"), kSharedTags + kPmRead);
}

TEST(Instances, IndependentInstancesTakeAsLongAsOne) {
  const auto time = [](std::string_view instances) {
    return steady_ns(
        [](TraceBuilder& builder, int rounds) {
          const std::uint32_t load =
              builder.site(SiteKind::kLoad, 8, 1, {trace::kBuiltinSites << 8});
          const std::uint32_t store = builder.site(SiteKind::kStore, 8);
          for (int round = 0; round < rounds; ++round) {
            for (std::uint64_t i = 0; i < 512; ++i) {
              builder.access(load, kPmBase + i * 64);
              builder.store(store, kPmBase + i * 64, i);
            }
          }
        },
        10, round_machine({{"run.instances", instances}}));
  };
  const double one = time("1");
  expect_near(time("2"), one);
  expect_near(time("4"), one);
}
TEST(Instances, InstancesShareTheMemoryBandwidth) {
  // Each limited by the bandwidth of one channel: four take four times as long.
  const auto time = [](std::string_view instances) {
    return independent_misses(64, 1,
                              round_machine({{"run.instances", instances},
                                             {"core.mshrs", "32"},
                                             {"core.rob_entries", "512"},
                                             {"core.load_queue_entries", "512"},
                                             {"shared.size", "4MiB"},
                                             {"pm.interleaving", "line"},
                                             {"pm.read_latency", "20ns"}}));
  };
  expect_near(time("4"), 4 * time("1"));
}

}  // namespace
}  // namespace pmemsim
