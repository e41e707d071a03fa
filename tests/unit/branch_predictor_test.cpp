// Prediction of branches: directions, targets of indirect branches, returns.
#include "pmemsim/machine/cpu/branch_predictor.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace pmemsim {
namespace {

constexpr std::uint32_t kIndexBits = 9;
constexpr int kBranches = 20000;

// Returns the share of mispredictions in the second half of branches at one site.
double missed(const std::function<std::uint32_t(int)>& target_of) {
  TargetPredictor targets(kIndexBits);
  BranchHistory history;
  int misses = 0;
  for (int i = 0; i < kBranches; ++i) {
    const bool right = targets.predicted(70, target_of(i), history);
    if (i >= kBranches / 2 && !right) ++misses;
  }
  return misses / (kBranches / 2.0);
}

TEST(DirectionPredictor, LearnsARepeatingPattern) {
  DirectionPredictor directions(12);
  BranchHistory history;
  int wrong = 0;
  for (int i = 0; i < 10000; ++i) wrong += !directions.predicted(7, i % 3 == 0, history);
  EXPECT_LT(wrong, 100);
}

TEST(TargetPredictor, OneTargetIsMispredictedOnce) {
  TargetPredictor targets(kIndexBits);
  BranchHistory history;
  EXPECT_FALSE(targets.predicted(70, 0, history));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(targets.predicted(70, 0, history)) << i;
}

TEST(TargetPredictor, LearnsRepeatedSequences) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> program(40);
  for (std::uint32_t& target : program) target = random() % 8;
  EXPECT_EQ(missed([](int i) { return static_cast<std::uint32_t>(i % 2); }), 0);
  EXPECT_EQ(missed([](int i) { return static_cast<std::uint32_t>(i % 7 == 6); }), 0);
  EXPECT_LT(missed([&](int i) { return program[static_cast<std::size_t>(i) % program.size()]; }),
            0.01);
}

TEST(TargetPredictor, RandomTargetsAreMispredictedByChance) {
  std::mt19937 random(1);
  EXPECT_NEAR(missed([&](int) { return static_cast<std::uint32_t>(random() % 4); }), 0.75, 0.02);
}

TEST(TargetPredictor, UsesOutcomesOfConditionalBranches) {
  TargetPredictor targets(kIndexBits);
  DirectionPredictor directions(14);
  BranchHistory history;
  std::mt19937 random(1);
  int misses = 0;
  for (int i = 0; i < kBranches; ++i) {
    const bool taken = random() % 2 == 0;
    directions.predicted(71, taken, history);
    const bool right = targets.predicted(70, taken ? 5 : 6, history);
    if (i >= kBranches / 2 && !right) ++misses;
  }
  EXPECT_LT(misses, kBranches / 2 * 0.02);
}

TEST(TargetPredictor, ManySitesWithOneTargetEachArePredicted) {
  TargetPredictor targets(kIndexBits);
  BranchHistory history;
  int misses = 0;
  for (int round = 0; round < 100; ++round) {
    for (std::uint32_t site = 70; site < 170; ++site) {
      if (!targets.predicted(site, site % 5, history) && round >= 50) ++misses;
    }
  }
  EXPECT_LT(misses, 50 * 100 * 0.02);
}

TEST(DirectionPredictor, IndirectBranchesAreInItsHistory) {
  TargetPredictor targets(kIndexBits);
  DirectionPredictor directions(14);
  BranchHistory history;
  std::mt19937 random(1);
  int misses = 0;
  for (int i = 0; i < kBranches; ++i) {
    const bool second = random() % 2 == 0;
    targets.predicted(70, second ? 2 : 1, history);
    const bool right = directions.predicted(71, second, history);
    if (i >= kBranches / 2 && !right) ++misses;
  }
  EXPECT_LT(misses, kBranches / 2 * 0.1);
}

// Returns the number of mispredicted returns from calls nested to this depth, whose sites differ.
int missed_returns(int depth, std::uint32_t entries, std::uint32_t sites) {
  ReturnStack returns(entries);
  for (int i = 0; i < depth; ++i) returns.call(static_cast<std::uint32_t>(i) % sites);
  int misses = 0;
  for (int i = 0; i < depth; ++i) misses += returns.predicted_return() ? 0 : 1;
  return misses;
}

TEST(ReturnStack, ReturnsOfNestedCallsArePredicted) {
  EXPECT_EQ(missed_returns(16, 16, 100), 0);
  EXPECT_EQ(missed_returns(1, 1, 100), 0);
}

TEST(ReturnStack, DeeperCallsThanItsEntriesAreMispredicted) {
  EXPECT_EQ(missed_returns(17, 16, 100), 1);
  EXPECT_EQ(missed_returns(40, 16, 100), 40 - 16);
}

TEST(ReturnStack, DeepRecursionFromOneSiteIsPredicted) {
  EXPECT_EQ(missed_returns(100000, 16, 1), 0);
}

TEST(ReturnStack, ReturnsFromCallsBeforeTheRecordingArePredicted) {
  ReturnStack returns(4);
  EXPECT_TRUE(returns.predicted_return());
  returns.call(1);
  EXPECT_TRUE(returns.predicted_return());
  EXPECT_TRUE(returns.predicted_return());
  EXPECT_EQ(returns.depth(), 0u);
}

TEST(ReturnStack, EarlierDepthForgetsLaterCalls) {
  ReturnStack returns(16);
  returns.call(1);
  const std::uint64_t depth = returns.depth();
  returns.call(2);
  returns.set_depth(depth);
  EXPECT_TRUE(returns.predicted_return());
  EXPECT_EQ(returns.depth(), 0u);
  returns.set_depth(1);
  EXPECT_TRUE(returns.predicted_return());
}

}  // namespace
}  // namespace pmemsim
