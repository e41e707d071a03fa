// The time from a region's end until it is durable, whatever is reported first.
#include "pmemsim/designs/interface/commit_latencies.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pmemsim {
namespace {

constexpr Time at(std::int64_t picoseconds) { return Time{picoseconds}; }

// The latencies, shortest first. Those below 64 ps are exact.
std::vector<std::int64_t> found(const CommitLatencies& commits) {
  std::vector<std::int64_t> latencies;
  for (const Latencies::Bucket& bucket : commits.latencies().buckets()) {
    latencies.insert(latencies.end(), bucket.count, bucket.from.count);
  }
  return latencies;
}

struct Commits : testing::Test {
  EventQueue queue;
  CommitLatencies commits{queue, 2};
};

TEST_F(Commits, RegionThatIsDurableAfterItsEndHasTheDifference) {
  commits.ended(0, 1, at(10));
  commits.durable(0, 1, at(40));
  EXPECT_EQ(found(commits), std::vector<std::int64_t>{30});
}

TEST_F(Commits, RegionThatIsDurableBeforeItsEndHasNone) {
  commits.durable(0, 1, at(8));
  EXPECT_TRUE(found(commits).empty());
  commits.ended(0, 1, at(10));
  EXPECT_EQ(found(commits), std::vector<std::int64_t>{0});
}

TEST_F(Commits, LaterRegionMakesEarlierOnesOfItsCoreDurable) {
  commits.ended(0, 1, at(10));
  commits.ended(0, 2, at(20));
  commits.ended(1, 1, at(21));
  commits.durable(0, 2, at(50));
  EXPECT_EQ(found(commits), (std::vector<std::int64_t>{30, 40}));
}

TEST_F(Commits, RegionIsDurableOnce) {
  commits.ended(0, 1, at(10));
  commits.durable(0, 1, at(20));
  commits.durable(0, 1, at(30));
  EXPECT_EQ(found(commits), std::vector<std::int64_t>{10});
}

TEST_F(Commits, RegionThatExecutesAgainEndsWhenItEndsLast) {
  commits.ended(0, 1, at(10));
  commits.ended(0, 2, at(20));
  commits.ended(0, 1, at(30));
  commits.durable(0, 1, at(35));
  EXPECT_EQ(found(commits), std::vector<std::int64_t>{5});
}

TEST_F(Commits, RegionThatIsNeverDurableHasNoLatency) {
  commits.ended(0, 1, at(10));
  EXPECT_TRUE(found(commits).empty());
}

}  // namespace
}  // namespace pmemsim
