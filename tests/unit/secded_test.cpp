// The SECDED code of a word corrects any one wrong bit and detects any two, tested on random words.
#include "pmemsim/designs/backend/secded.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>

#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

constexpr std::uint32_t kBits = kDataBits + kCheckBits;

LineData random_line(std::mt19937_64& random) {
  LineData data;
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

TEST(Secded, CheckBitsAddUpTheColumnsOfOnes) {
  EXPECT_EQ(check_bits(0), 0);
  EXPECT_EQ(check_bits(1), 0b0000'0111);
  EXPECT_EQ(check_bits(2), 0b0000'1011);
  EXPECT_EQ(check_bits(3), 0b0000'1100);
  EXPECT_EQ(check_bits(std::uint64_t{1} << 55), 0b1110'0000) << "the last with three ones";
  EXPECT_EQ(check_bits(std::uint64_t{1} << 56), 0b0001'1111) << "the first with five";
}

TEST(Secded, ColumnsDifferAndHaveAnOddNumberOfOnes) {
  std::set<std::uint8_t> columns;
  for (std::uint32_t bit = 0; bit < kDataBits; ++bit) {
    const std::uint8_t column = check_bits(std::uint64_t{1} << bit);
    EXPECT_EQ(std::popcount(column) % 2, 1);
    EXPECT_GT(std::popcount(column), 1) << "those with one are check bits'";
    columns.insert(column);
  }
  EXPECT_EQ(columns.size(), kDataBits);
}

TEST(Secded, CorrectLineStaysUnchanged) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const CodedLine right = coded(random_line(random));
    CodedLine read = right;
    EXPECT_EQ(correct(read), Correction::kNothingWrong);
    EXPECT_EQ(read, right);
  }
}

TEST(Secded, AnyWrongBitIsCorrected) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20; ++i) {
    const CodedLine right = coded(random_line(random));
    for (std::size_t word = 0; word < kWordsALine; ++word) {
      for (std::uint32_t bit = 0; bit < kBits; ++bit) {
        CodedLine read = right;
        flip(read, word, bit);
        ASSERT_NE(read, right);
        ASSERT_EQ(correct(read), Correction::kCorrected) << bit;
        ASSERT_EQ(read, right) << bit;
      }
    }
  }
}

TEST(Secded, AnyTwoWrongBitsOfAWordAreDetected) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    const CodedLine right = coded(random_line(random));
    const std::size_t word = random() % kWordsALine;
    for (std::uint32_t one = 0; one < kBits; ++one) {
      for (std::uint32_t other = one + 1; other < kBits; ++other) {
        CodedLine read = right;
        flip(read, word, one);
        flip(read, word, other);
        ASSERT_EQ(correct(read), Correction::kUncorrectable) << one << " and " << other;
      }
    }
  }
}

TEST(Secded, OneWrongBitInEachWordIsCorrected) {
  std::mt19937_64 random(4);
  const CodedLine right = coded(random_line(random));
  CodedLine read = right;
  for (std::size_t word = 0; word < kWordsALine; ++word) flip(read, word, random() % kBits);
  EXPECT_EQ(correct(read), Correction::kCorrected);
  EXPECT_EQ(read, right);
}

TEST(Secded, WorstWordDeterminesTheResult) {
  std::mt19937_64 random(5);
  CodedLine read = coded(random_line(random));
  flip(read, 1, 3);
  flip(read, 2, 5);
  flip(read, 2, 66);
  flip(read, 4, 70);
  EXPECT_EQ(correct(read), Correction::kUncorrectable);
}

}  // namespace
}  // namespace pmemsim
