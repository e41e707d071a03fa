// RequestStages: the times in which requests to persistent memory wait.
#include <gtest/gtest.h>

#include "pmemsim/machine/memory/request_stages.hpp"

namespace pmemsim {
namespace {

Time at(std::int64_t picoseconds) { return {picoseconds}; }

TEST(RequestStages, WaitForAnEntryHasPriorityOverTheBackend) {
  RequestStages stages;
  stages.hold(1, at(100));
  stages.await_entry(2, at(200));
  stages.await_entry(-1, at(250));  // another write still waits
  stages.await_entry(-1, at(300));
  stages.hold(-1, at(450));
  const RequestStages::Amounts all = stages.between(at(0), at(1000));
  EXPECT_EQ(all.queue.count, 100);
  EXPECT_EQ(all.backend.count, 100 + 150);
}

TEST(RequestStages, PartsOfAnIntervalAreCounted) {
  RequestStages stages;
  stages.await_entry(1, at(100));
  stages.await_entry(-1, at(200));
  EXPECT_EQ(stages.between(at(0), at(100)).queue.count, 0);
  EXPECT_EQ(stages.between(at(50), at(130)).queue.count, 30);
  EXPECT_EQ(stages.between(at(130), at(500)).queue.count, 70);
  EXPECT_EQ(stages.between(at(150), at(150)).queue.count, 0);
}

TEST(RequestStages, StageThatHasNotEndedIsCounted) {
  RequestStages stages;
  stages.hold(1, at(100));
  EXPECT_EQ(stages.between(at(0), at(180)).backend.count, 80);
}

TEST(RequestStages, StageWithoutDurationIsNotCounted) {
  RequestStages stages;
  stages.hold(1, at(100));
  stages.hold(-1, at(100));
  EXPECT_EQ(stages.between(at(0), at(500)).backend.count, 0);
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
