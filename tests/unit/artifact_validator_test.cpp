// The validator of PMWeaver's artifact: candidates and writes made by hand.
#include "pmemsim/designs/precompute/artifact_validator.hpp"

#include <gtest/gtest.h>

#include "memory_bench.hpp"

namespace pmemsim {
namespace {

using Candidate = ArtifactValidator::Candidate;
using Verdict = ArtifactValidator::Verdict;

constexpr Line kPredicted{100}, kNeverPredicted{200};
constexpr ByteMask kFirstWord = 0xff;

Time at(std::int64_t nanoseconds) { return Time{nanoseconds * 1000}; }

// A prediction made at this time, of which the first word is predicted.
Candidate candidate(std::uint64_t number, std::int64_t made, std::uint64_t value) {
  return {.id = {number},
          .slot = static_cast<std::uint32_t>(number),
          .known = {at(made), at(made + 10)},
          .data = data_of(value),
          .compared = kFirstWord};
}

void expect_known(const Verdict& verdict, std::int64_t address, std::int64_t data) {
  ASSERT_TRUE(verdict.known.has_value());
  EXPECT_EQ(verdict.known->address, at(address));
  EXPECT_EQ(verdict.known->data, at(data));
}

TEST(ArtifactValidator, MatchedWriteTakesTheOldestTimesAndErasesTheOldest) {
  ArtifactValidator validator(true);
  validator.add(kPredicted, candidate(1, 100, 5));
  validator.add(kPredicted, candidate(2, 200, 6));
  validator.add(kPredicted, candidate(3, 300, 6));
  const Verdict verdict = validator.validate(kPredicted, data_of(6), at(1000));
  EXPECT_TRUE(verdict.data);
  expect_known(verdict, 100, 110);
  EXPECT_EQ(verdict.now_used->slot, 3u) << "the newest one with these data";
  EXPECT_EQ(verdict.erased.number, 1u);
  EXPECT_FALSE(validator.remove(kPredicted, verdict.erased)) << "it was not used";
  EXPECT_TRUE(validator.remove(kPredicted, {3}));
}

TEST(ArtifactValidator, UsedCandidateMatchesLaterWritesOfItsData) {
  ArtifactValidator validator(true);
  validator.add(kPredicted, candidate(1, 100, 5));
  validator.add(kPredicted, candidate(2, 200, 6));
  validator.remove(kPredicted, validator.validate(kPredicted, data_of(6), at(1000)).erased);
  const Verdict again = validator.validate(kPredicted, data_of(6), at(2000));
  EXPECT_TRUE(again.data);
  EXPECT_FALSE(again.now_used.has_value());
  expect_known(again, 200, 210);
  EXPECT_EQ(again.erased.number, 2u) << "the oldest is the used one now";
}

TEST(ArtifactValidator, OtherDataTakeTheOldestAddressAndEraseNothing) {
  ArtifactValidator validator(true);
  validator.add(kPredicted, candidate(1, 100, 5));
  validator.add(kPredicted, candidate(2, 200, 0x0105));
  for (int i = 0; i < 2; ++i) {
    const Verdict verdict = validator.validate(kPredicted, data_of(0x0107), at(1000));
    EXPECT_FALSE(verdict.data);
    expect_known(verdict, 100, 1000);
    EXPECT_FALSE(verdict.erased);
    EXPECT_EQ(verdict.nearest->slot, 2u) << "seven bytes are right, of the other one six";
  }
}

TEST(ArtifactValidator, OnlyPredictedChunksAreCompared) {
  ArtifactValidator validator(true);
  validator.add(kPredicted, candidate(1, 100, 5));
  LineData data = data_of(5);
  data[8] = std::byte{9};  // not predicted
  EXPECT_TRUE(validator.validate(kPredicted, data, at(1000)).data);
  Candidate nothing = candidate(2, 100, 5);
  nothing.compared = 0;
  validator.add(kNeverPredicted, nothing);
  EXPECT_FALSE(validator.validate(kNeverPredicted, data_of(5), at(1000)).data);
}

TEST(ArtifactValidator, UnpredictedWriteRestartsAddressesOfUnusedCandidates) {
  ArtifactValidator validator(true);
  validator.add(kPredicted, candidate(1, 100, 5));
  validator.add(kPredicted, candidate(2, 200, 6));
  validator.remove(kPredicted,
                   validator.validate(kPredicted, data_of(6), at(300)).erased);  // 2 was used
  validator.add(kPredicted, candidate(3, 300, 7));
  validator.add({300}, candidate(4, 300, 7));
  EXPECT_FALSE(validator.validate(kNeverPredicted, data_of(1), at(1000)).known.has_value());
  expect_known(validator.validate({300}, data_of(8), at(2000)), 1000, 2000);
  expect_known(validator.validate(kPredicted, data_of(8), at(2000)), 200, 2000);
}

TEST(ArtifactValidator, SecondUnpredictedWriteOfALineChangesNothingUntilAPrediction) {
  ArtifactValidator validator(true);
  validator.add(kPredicted, candidate(1, 100, 5));
  validator.validate(kNeverPredicted, data_of(1), at(1000));
  validator.validate(kNeverPredicted, data_of(1), at(2000));
  expect_known(validator.validate(kPredicted, data_of(8), at(3000)), 1000, 3000);
  validator.add({300}, candidate(2, 3000, 5));
  validator.validate(kNeverPredicted, data_of(1), at(4000));
  expect_known(validator.validate(kPredicted, data_of(8), at(5000)), 4000, 5000);
}

TEST(ArtifactValidator, UnpredictedWritesChangeNothingIfNothingIsRecomputed) {
  ArtifactValidator validator(false);
  validator.add(kPredicted, candidate(1, 100, 5));
  validator.validate(kNeverPredicted, data_of(1), at(1000));
  expect_known(validator.validate(kPredicted, data_of(5), at(3000)), 100, 110);
}

}  // namespace
}  // namespace pmemsim
