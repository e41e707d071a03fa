// Percentiles of latencies, against sorted lists.
#include "pmemsim/common/latencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace pmemsim {
namespace {

TEST(Latencies, NoneHaveNoPercentile) {
  EXPECT_EQ(Latencies().percentile(500), Picoseconds{0});
  Latencies taken_back;
  taken_back.add(Picoseconds{1000});
  taken_back.remove(Picoseconds{1000});
  EXPECT_EQ(taken_back.percentile(999), Picoseconds{0});
}

TEST(Latencies, SmallOnesAreExact) {
  Latencies latencies;
  for (std::int64_t latency = 1; latency <= 10; ++latency) latencies.add(Picoseconds{latency});
  EXPECT_EQ(latencies.percentile(500), Picoseconds{5});
  EXPECT_EQ(latencies.percentile(501), Picoseconds{6});
  EXPECT_EQ(latencies.percentile(990), Picoseconds{10});
  EXPECT_EQ(latencies.percentile(1), Picoseconds{1});
}

TEST(Latencies, FirstLatencyOfABucketIsExact) {
  for (const std::int64_t latency : {64, 66, 1024, 1056, 1 << 20}) {
    Latencies latencies;
    latencies.add(Picoseconds{latency});
    EXPECT_EQ(latencies.percentile(500), Picoseconds{latency});
  }
}

TEST(Latencies, BucketsHaveEachLatencyOnceAndAreSorted) {
  Latencies latencies;
  for (const std::int64_t latency : {70, 5, 71, 5, 1000}) latencies.add(Picoseconds{latency});
  // From 64 ps on, a bucket has 2 ps; from 512 ps on, 16 ps.
  const std::vector<Latencies::Bucket> found = latencies.buckets();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].from, Picoseconds{5});
  EXPECT_EQ(found[0].count, 2u);
  EXPECT_EQ(found[1].from, Picoseconds{70});
  EXPECT_EQ(found[1].count, 2u);
  EXPECT_EQ(found[2].from, Picoseconds{992});
  EXPECT_EQ(found[2].count, 1u);
  EXPECT_TRUE(Latencies().buckets().empty());
}

TEST(Latencies, LargeOnesAreAtMostThreePercentTooLow) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> sorted;
  Latencies first, second;
  for (int i = 0; i < 3000; ++i) {
    const auto latency = static_cast<std::int64_t>(random() >> (1 + random() % 50));
    sorted.push_back(latency);
    (i % 3 == 0 ? first : second).add(Picoseconds{latency});
  }
  std::ranges::sort(sorted);
  Latencies both;
  both += first;
  both += second;
  for (const std::uint64_t thousandths : {1u, 250u, 500u, 990u, 999u, 1000u}) {
    const std::int64_t exact = sorted[(3000 * thousandths + 999) / 1000 - 1];
    const std::int64_t found = both.percentile(thousandths).count;
    EXPECT_LE(found, exact);
    EXPECT_GE(static_cast<double>(found), 0.968 * static_cast<double>(exact));
  }
}

}  // namespace
}  // namespace pmemsim
