// The stages of small programs against closed forms, on the machine in round numbers.
#include <gtest/gtest.h>

#include <vector>

#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/timeline/persists.hpp"
#include "pmemsim/timeline/regions.hpp"
#include "validation/round_machine.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::TraceBuilder;

struct Stages {
  std::vector<StageEvent> fences, stalls, reads, refreshes;
  std::vector<Persist> persists;
  std::vector<TimelineRegion> regions;
};

Stages stages_of(TraceBuilder& builder, const std::vector<Setting>& settings) {
  const TemporaryTrace file(builder);
  const trace::TraceFile trace(file.path());
  Machine machine(configure(settings), trace);
  StageLog log(machine.queue(), testing::TempDir());
  machine.log_stages(&log);
  EXPECT_TRUE(machine.run({}));
  Stages found;
  PersistTracker tracker;
  log.for_each([&](const StageEvent& event) {
    if (const auto over = tracker.add(event)) found.persists.push_back(*over);
    if (event.stage == Stage::kFence) found.fences.push_back(event);
    if (event.stage == Stage::kStall) found.stalls.push_back(event);
    if (event.stage == Stage::kRead) found.reads.push_back(event);
    if (event.stage == Stage::kRefresh) found.refreshes.push_back(event);
  });
  found.regions = regions_of(log);
  return found;
}

// A region that writes to a line for the second time, flushes it and waits for it.
void build_region(TraceBuilder& builder) {
  builder.pm_region(kPmBase, kPmBase + (1u << 20));
  const std::uint32_t store = builder.site(SiteKind::kStore, 8);
  const std::uint32_t flush = builder.site(SiteKind::kFlush);
  const std::uint32_t fence = builder.site(SiteKind::kFence);
  for (std::uint64_t value = 1; value <= 2; ++value) {
    builder.mark(MarkKind::kRegionBegin, 1);
    builder.store(store, kPmBase, value);
    builder.access(flush, kPmBase);
    builder.plain(fence);
    builder.mark(MarkKind::kRegionEnd, 1);
  }
}

std::int64_t picoseconds(double ns) { return static_cast<std::int64_t>(1000 * ns); }

TEST(TimelineStages, FlushTakesTheWayToTheControllerAndTheBanksTime) {
  TraceBuilder builder;
  build_region(builder);
  const Stages found = stages_of(builder, round_machine({{"pm.wpq_entries", "1"}}));
  ASSERT_EQ(found.persists.size(), 2u);
  const Persist& write = found.persists[1];
  ASSERT_TRUE(write.origin && write.origin->flush);
  EXPECT_EQ(write.line, Line::of(kPmBase));
  EXPECT_EQ((write.issued - write.origin->left).count, picoseconds(kWayDown));
  EXPECT_EQ(write.issued, write.arrived);
  EXPECT_EQ(write.accepted, write.arrived);
  EXPECT_EQ((write.finished - write.started).count, picoseconds(100 + 3.332));
  EXPECT_EQ(write.persistent, write.accepted);
}

TEST(TimelineStages, FenceWaitsForItsFlushAndIsTheOnlyStall) {
  TraceBuilder builder;
  build_region(builder);
  const Stages found = stages_of(builder, round_machine({{"pm.wpq_entries", "1"}}));
  ASSERT_EQ(found.fences.size(), 2u);
  ASSERT_EQ(found.persists.size(), 2u);
  const StageEvent& fence = found.fences[1];
  const Persist& write = found.persists[1];
  // The fence is the head one cycle after the flush has left, until the write is accepted.
  EXPECT_EQ((fence.at[1] - write.origin->left).count, picoseconds(1));
  EXPECT_EQ(fence.at[2], write.accepted);
  ASSERT_EQ(found.stalls.size(), 2u);
  EXPECT_EQ(found.stalls[1].detail, static_cast<std::uint8_t>(Cause::kFence));
  EXPECT_EQ(found.stalls[1].at[0], fence.at[1]);
  EXPECT_EQ(found.stalls[1].at[1], fence.at[2]);
}

TEST(TimelineStages, ARegionLastsUntilItsEndRetires) {
  TraceBuilder builder;
  build_region(builder);
  const Stages found = stages_of(builder, round_machine());
  const TemporaryTrace file(builder);
  const RunResult result = simulate(trace::TraceFile(file.path()), configure(round_machine()), {});
  ASSERT_EQ(found.regions.size(), 2u);
  Picoseconds sum{};
  for (const TimelineRegion& region : found.regions) sum += region.retired - region.begin;
  EXPECT_EQ(static_cast<double>(sum.count) / 1000, statistic(result, "core.region_time_ns"));
  EXPECT_GE(found.regions[1].begin, found.regions[0].retired);
}

// Dependent loads, each from a line of its own and 203.332 ns at the bank. The channel is idle
// between them, so that a refresh begins on time or when the bank ends.
TEST(TimelineStages, RefreshesBeginAtTheirIntervalAndDelayTheReadsThatArriveMeanwhile) {
  constexpr std::int64_t kInterval = 2000, kDuration = 350;
  constexpr int kLoads = 60;
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1u << 20));
  const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 1, {trace::kBuiltinSites << 8});
  for (int i = 0; i < kLoads; ++i) {
    builder.access(load, kPmBase + static_cast<std::uint64_t>(i) * kOtherBank);
  }
  const std::vector<Setting> settings = round_machine({{"pm.trefi", "2000ns"},
                                                       {"pm.trfc", "350ns"},
                                                       {"pm.controllers", "1"},
                                                       {"pm.channels_per_controller", "1"}});
  const Stages found = stages_of(builder, settings);
  ASSERT_EQ(found.reads.size(), std::size_t{kLoads});
  ASSERT_GE(found.refreshes.size(), 6u);
  std::size_t delayed = 0;
  for (std::size_t i = 0; i < found.refreshes.size(); ++i) {
    const StageEvent& refresh = found.refreshes[i];
    const Time due =
        Time{} + Picoseconds{picoseconds(kInterval)} * (static_cast<std::int64_t>(i) + 1);
    Time idle{};  // the end of the last access that began before the refresh was due
    for (const StageEvent& read : found.reads) {
      if (read.at[1] < due) idle = max(idle, read.at[2]);
    }
    EXPECT_EQ(refresh.at[0], max(due, idle));
    EXPECT_EQ((refresh.at[1] - refresh.at[0]).count, picoseconds(kDuration));
    for (const StageEvent& read : found.reads) {
      if (read.at[0] < refresh.at[0] || read.at[0] >= refresh.at[1]) continue;
      ++delayed;
      EXPECT_EQ(read.at[1], refresh.at[1]);
    }
  }
  EXPECT_GT(delayed, 0u);
}

TEST(TimelineStages, LogChangesNoTime) {
  TraceBuilder builder;
  build_region(builder);
  const TemporaryTrace file(builder);
  const trace::TraceFile trace(file.path());
  for (const std::string_view atomicity : {"none", "hw-undo", "asap", "lad"}) {
    const std::vector<Setting> settings = round_machine({{"atomicity", atomicity}});
    Machine plain(configure(settings), trace), logged(configure(settings), trace);
    StageLog log(logged.queue(), testing::TempDir());
    logged.log_stages(&log);
    EXPECT_TRUE(plain.run({}) && logged.run({}));
    EXPECT_EQ(plain.now(), logged.now()) << atomicity;
    EXPECT_EQ(plain.events(), logged.events()) << atomicity;
    EXPECT_GT(log.size(), 0u);
  }
}

}  // namespace
}  // namespace pmemsim
