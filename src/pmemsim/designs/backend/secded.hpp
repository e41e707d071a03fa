// A code that corrects one wrong bit of a word and detects two (SECDED): eight check bits for each
// 64 bits of data, after Hsiao ("A Class of Optimal Minimum Odd-weight-column SEC-DED Codes", IBM
// Journal of Research and Development, 1970).
//   1  Each data bit and check bit has its own column of 8 bits, with an odd number of ones. The
//      check bits are chosen so that the columns of all bits that are one add up to zero (XOR).
//   2  The columns of the bits that are read add up to the syndrome. It is zero if no bit is wrong,
//      and the column of the wrong bit if one is. If two are wrong, it is the sum of two columns,
//      which has an even number of ones.
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

inline constexpr std::size_t kWordsALine = kLineBytes / sizeof(std::uint64_t);
inline constexpr std::uint32_t kDataBits = 64, kCheckBits = 8;  // bits of a word

// The check bits of a line: a byte for each word.
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
// Corrects the words of a line that can be corrected, and returns the worst result of all words.
Correction correct(CodedLine& line);
// Inverts a bit of a word; from kDataBits on, bits are the word's check bits.
void flip(CodedLine& line, std::size_t word, std::uint32_t bit);

}  // namespace pmemsim
