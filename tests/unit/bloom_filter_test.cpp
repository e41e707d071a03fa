// Bloom filters of lines: an inserted line is always found; a removed line is not, except for false
// positives.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "pmemsim/common/bloom_filter.hpp"

namespace pmemsim {
namespace {

// Returns a line that wasn't inserted, but is found in the filter.
Line look_alike(const CountingBloomFilter& filter, Line inserted) {
  Line line = inserted;
  do {
    ++line.number;
  } while (!filter.contains(line));
  return line;
}

TEST(CountingBloomFilter, InsertedLineIsFoundUntilItsRemoval) {
  CountingBloomFilter filter(8192);
  EXPECT_FALSE(filter.contains({1}));
  filter.insert({1});
  EXPECT_TRUE(filter.contains({1}));
  EXPECT_FALSE(filter.contains({2}));
  filter.remove({1});
  EXPECT_FALSE(filter.contains({1}));
}

TEST(CountingBloomFilter, CountsHowOftenALineWasInserted) {
  CountingBloomFilter filter(8192);
  filter.insert({1});
  filter.insert({1});
  filter.remove({1});
  EXPECT_TRUE(filter.contains({1}));
  filter.remove({1});
  EXPECT_FALSE(filter.contains({1}));
}

// In a filter of one counter, all lines share that counter.
TEST(CountingBloomFilter, LineWhoseCountersAreAllSetIsAFalsePositive) {
  CountingBloomFilter one(1);
  EXPECT_FALSE(one.contains({2}));
  one.insert({1});
  EXPECT_TRUE(one.contains({2}));
  one.remove({1});
  EXPECT_FALSE(one.contains({2}));
}

// Removing a colliding line keeps the shared counters above zero for the other line.
TEST(CountingBloomFilter, RemovalOfACollidingLineKeepsTheOtherLine) {
  CountingBloomFilter filter(16);
  filter.insert({1});
  const Line other = look_alike(filter, {1});
  filter.insert(other);
  filter.remove({1});
  EXPECT_TRUE(filter.contains(other));
  filter.remove(other);
  EXPECT_FALSE(filter.contains(other));
  EXPECT_FALSE(filter.contains({1}));
}

// Compares a filter that is small enough for many false positives with an exact set.
TEST(CountingBloomFilter, NeverMissesALine) {
  std::mt19937_64 random(1);
  CountingBloomFilter filter(64);
  std::multiset<std::uint64_t> inside;
  std::uint64_t falsely = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t line = random() % 40;
    if (random() % 2 == 0 && inside.size() < 12) {
      filter.insert({line});
      inside.insert(line);
    } else if (const auto found = inside.find(line); found != inside.end()) {
      filter.remove({line});
      inside.erase(found);
    }
    for (std::uint64_t other = 0; other < 40; ++other) {
      if (inside.contains(other)) {
        ASSERT_TRUE(filter.contains({other})) << step;
      } else {
        falsely += filter.contains({other});
      }
    }
  }
  EXPECT_GT(falsely, 0);
  for (const std::uint64_t line : std::vector(inside.begin(), inside.end())) filter.remove({line});
  for (std::uint64_t other = 0; other < 40; ++other) EXPECT_FALSE(filter.contains({other}));
}

// HOPS has 8192 counters for 32 lines. All four counters of another line are set with a probability
// of (1 - (1 - 1/8192)^128)^4 = 5.8e-8.
TEST(CountingBloomFilter, FalsePositivesAreRareAtTheSizeOfHops) {
  CountingBloomFilter filter(8192);
  for (std::uint64_t line = 0; line < 32; ++line) filter.insert({line * 977});
  std::uint64_t falsely = 0;
  for (std::uint64_t line = 0; line < 100'000; ++line) {
    falsely += line % 977 != 0 && filter.contains({line});
  }
  EXPECT_LE(falsely, 2);
}

}  // namespace
}  // namespace pmemsim
