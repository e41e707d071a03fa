// RequestStages: the times in which requests to persistent memory wait.
#include <gtest/gtest.h>

#include "pmemsim/machine/memory/request_stages.hpp"

namespace pmemsim {
namespace {

Time stage_change(std::int64_t picoseconds) { return {picoseconds}; }

TEST(RequestStages, WaitForAnEntryHasPriorityOverTheBackend) {
  RequestStages stages;
  stages.hold(1, stage_change(100));
  stages.await_entry(2, stage_change(200));
  stages.await_entry(-1, stage_change(250));  // another write still waits
  stages.await_entry(-1, stage_change(300));
  stages.hold(-1, stage_change(450));
  const RequestStages::Amounts all = stages.between(stage_change(0), stage_change(1000));
  EXPECT_EQ(all.queue.count, 100);
  EXPECT_EQ(all.backend.count, 100 + 150);
}

TEST(RequestStages, PartsOfAnIntervalAreCounted) {
  RequestStages stages;
  stages.await_entry(1, stage_change(100));
  stages.await_entry(-1, stage_change(200));
  EXPECT_EQ(stages.between(stage_change(0), stage_change(100)).queue.count, 0);
  EXPECT_EQ(stages.between(stage_change(50), stage_change(130)).queue.count, 30);
  EXPECT_EQ(stages.between(stage_change(130), stage_change(500)).queue.count, 70);
  EXPECT_EQ(stages.between(stage_change(150), stage_change(150)).queue.count, 0);
}

TEST(RequestStages, IntervalAfterTheLastStageHasNoParts) {
  RequestStages stages;
  stages.hold(1, stage_change(100));
  stages.hold(-1, stage_change(200));
  EXPECT_EQ(stages.between(stage_change(200), stage_change(300)).backend.count, 0);
  EXPECT_EQ(stages.between(stage_change(199), stage_change(300)).backend.count, 1);
}

TEST(RequestStages, StageThatHasNotEndedIsCounted) {
  RequestStages stages;
  stages.hold(1, stage_change(100));
  EXPECT_EQ(stages.between(stage_change(0), stage_change(180)).backend.count, 80);
}

TEST(RequestStages, StageWithoutDurationIsNotCounted) {
  RequestStages stages;
  stages.hold(1, stage_change(100));
  stages.hold(-1, stage_change(100));
  EXPECT_EQ(stages.between(stage_change(0), stage_change(500)).backend.count, 0);
}

TEST(RequestStages, LatestReadOfALineHasItsBankAndItsDecoding) {
  RequestStages stages;
  stages.read_started({7}, {30});
  stages.read_decoded({7}, {40});
  EXPECT_EQ(stages.latest_read({7}).bank.count, 30);
  EXPECT_EQ(stages.latest_read({7}).decoding.count, 40);
  EXPECT_EQ(stages.latest_read({8}).bank.count, 0);
  stages.read_started({7}, {0});
  EXPECT_EQ(stages.latest_read({7}).decoding.count, 0);
}

}  // namespace
}  // namespace pmemsim
