// ASAP: what it writes and leaves out, and what recovery makes of a crash at every change of the
// persistent state.
#include <gtest/gtest.h>

#include "pmemsim/atomicity/asap.hpp"
#include "pmemsim/recovery/asap.hpp"
#include "unit/crash_plug.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

// The traffic optimisations, one after the other (5.1): none, +C, +C+LP, all.
class AsapCrash : public testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AsapCrash,
                         testing::Combine(testing::Range(0, 4), testing::Range(0, 4)));

TEST_P(AsapCrash, LeavesWholeRegionsAtEveryPoint) {
  const auto [seed, optimisations] = GetParam();
  Regions program(static_cast<std::uint32_t>(seed), 30, 24, 40);
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(
      crash_configuration({{"atomicity", "asap"},
                           {"asap.dpo_coalescing", optimisations > 0 ? "true" : "false"},
                           {"asap.lpo_dropping", optimisations > 1 ? "true" : "false"},
                           {"asap.dpo_dropping", optimisations > 2 ? "true" : "false"}}),
      file);
  const auto& design = dynamic_cast<const Asap&>(machine.atomicity());
  std::uint64_t begun = 0;
  Plug plug(machine, program.states, [&](Image& image) {
    const Asap::Survivors survivors = design.survivors();
    recover_asap(survivors, image);
    // One thread: regions commit in their order, so all before the oldest in the list have.
    if (survivors.dependences.empty()) return begun;
    begun = std::max(begun, survivors.dependences.rbegin()->first);
    return survivors.dependences.begin()->first - 1;
  });
  machine.observe(&plug);
  ASSERT_TRUE(machine.run({}));
  EXPECT_EQ(plug.problem, "");
  EXPECT_GT(plug.crashes, 300);
  EXPECT_GT(plug.undone, 50);
  EXPECT_TRUE(design.survivors().dependences.empty());
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

TEST(Asap, PersistsALineOfARegionOnceAndDropsItsLog) {
  TraceBuilder builder = one_line_regions(6, false);
  const auto result = run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.committed"), 6);
  EXPECT_EQ(statistic(result, "asap.lpos"), 6);
  EXPECT_EQ(statistic(result, "asap.dpos"), 6) << "four stores, one data persist operation";
  EXPECT_EQ(statistic(result, "asap.lpos_dropped"), 6);
  EXPECT_EQ(statistic(result, "asap.control_dependences"), 5);
  EXPECT_EQ(statistic(result, "asap.data_dependences"), 0);
  EXPECT_EQ(statistic(result, "pm.bytes_written"), 6 * 64);
}

TEST(Asap, DropsTheDataThatALaterRegionLogs) {
  TraceBuilder builder = one_line_regions(6, true);
  const auto result = run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}}));
  EXPECT_EQ(statistic(result, "asap.dpos"), 6);
  EXPECT_GT(statistic(result, "asap.dpos_dropped"), 0);
  EXPECT_EQ(statistic(result, "pm.bytes_written") / 64 + statistic(result, "asap.dpos_dropped"), 6);
}

TEST(Asap, WithoutCoalescingEveryStoreIsPersisted) {
  TraceBuilder builder = one_line_regions(6, false);
  const auto result = run_trace(builder, settings({{"ordering", "x86"},
                                                   {"atomicity", "asap"},
                                                   {"asap.dpo_coalescing", "false"},
                                                   {"asap.lpo_dropping", "false"}}));
  EXPECT_GT(statistic(result, "asap.dpos"), 6);
  EXPECT_EQ(statistic(result, "asap.lpos_dropped"), 0);
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

TEST(Asap, ManyRegionsMayWaitForOne) {
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

TEST(Asap, AFenceWaitsForTheLatestRegion) {
  const auto time = [](bool fence) {
    TraceBuilder builder = one_line_regions(1, false);
    if (fence) builder.mark(MarkKind::kFenceRegions);
    return nanoseconds(run_trace(builder, settings({{"ordering", "x86"}, {"atomicity", "asap"}})));
  };
  EXPECT_GT(time(true), time(false) + 10);
}

}  // namespace
}  // namespace pmemsim
