// A code that corrects one wrong bit of a word and detects two (SECDED): eight check bits for each
// 64 bits of data, after Hsiao ("A Class of Optimal Minimum Odd-weight-column SEC-DED Codes", IBM
// Journal of Research and Development, 1970).
//
//   1  Each bit, of data and check bits, has a column of eight bits of its own, an odd number of
//      them ones. The check bits are such that the columns of all ones add up to zero.
//   2  What is read adds up to its syndrome: zero if nothing is wrong; the column of the wrong bit
//      if one is; the sum of two columns, which has an even number of ones, if two are.
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

inline constexpr std::size_t kWordsALine = kLineBytes / sizeof(std::uint64_t);
inline constexpr std::uint32_t kDataBits = 64, kCheckBits = 8;  // of a word

// A byte for each word.
using CheckBits = std::array<std::uint8_t, kWordsALine>;

struct CodedLine {
  LineData data;
  CheckBits check;
  bool operator==(const CodedLine&) const = default;
};

enum class Correction : std::uint8_t { kNothingWrong, kCorrected, kUncorrectable };

std::uint8_t check_bits(std::uint64_t word);
Correction correct(std::uint64_t& word, std::uint8_t& check);

CodedLine coded(const LineData& data);
// Of all words, the worst; those that can be corrected are.
Correction correct(CodedLine& line);
// Another value of a bit: of the word's data, and from kDataBits on of its check bits.
void flip(CodedLine& line, std::size_t word, std::uint32_t bit);

}  // namespace pmemsim
