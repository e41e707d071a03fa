#include "pmemsim/designs/backend/secded.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pmemsim {
namespace {

// Columns of data bits: all with three ones, and the first ones with five. Columns with a single
// one belong to the check bits.
constexpr std::array<std::uint8_t, kDataBits> kColumns = [] {
  std::array<std::uint8_t, kDataBits> columns{};
  std::size_t count = 0;
  for (const int ones : {3, 5}) {
    for (unsigned column = 0; column < 256 && count < columns.size(); ++column) {
      if (std::popcount(column) == ones) columns[count++] = static_cast<std::uint8_t>(column);
    }
  }
  return columns;
}();

// The data bits that each check bit covers.
constexpr std::array<std::uint64_t, kCheckBits> kChecked = [] {
  std::array<std::uint64_t, kCheckBits> checked{};
  for (std::uint32_t bit = 0; bit < kDataBits; ++bit) {
    for (std::uint32_t check = 0; check < kCheckBits; ++check) {
      if ((kColumns[bit] >> check & 1) != 0) checked[check] |= std::uint64_t{1} << bit;
    }
  }
  return checked;
}();

std::uint64_t word_at(const LineData& data, std::size_t word) {
  std::uint64_t value = 0;
  std::memcpy(&value, data.data() + word * sizeof value, sizeof value);
  return value;
}

void put_word(LineData& data, std::size_t word, std::uint64_t value) {
  std::memcpy(data.data() + word * sizeof value, &value, sizeof value);
}

}  // namespace

std::uint8_t check_bits(std::uint64_t word) {
  unsigned check = 0;
  for (std::uint32_t bit = 0; bit < kCheckBits; ++bit) {
    check |= (static_cast<unsigned>(std::popcount(word & kChecked[bit])) & 1) << bit;
  }
  return static_cast<std::uint8_t>(check);
}

// Implements rule 2 (secded.hpp).
Correction correct(std::uint64_t& word, std::uint8_t& check) {
  const auto syndrome = static_cast<std::uint8_t>(check_bits(word) ^ check);
  if (syndrome == 0) return Correction::kNothingWrong;
  if (std::has_single_bit(syndrome)) {
    check ^= syndrome;
    return Correction::kCorrected;
  }
  const auto* const column = std::ranges::find(kColumns, syndrome);
  if (column == kColumns.end()) return Correction::kUncorrectable;
  word ^= std::uint64_t{1} << (column - kColumns.begin());
  return Correction::kCorrected;
}

CodedLine coded(const LineData& data) {
  CodedLine line{data, {}};
  for (std::size_t word = 0; word < kWordsALine; ++word) {
    line.check[word] = check_bits(word_at(data, word));
  }
  return line;
}

Correction correct(CodedLine& line) {
  Correction worst = Correction::kNothingWrong;
  for (std::size_t at = 0; at < kWordsALine; ++at) {
    std::uint64_t word = word_at(line.data, at);
    worst = std::max(worst, correct(word, line.check[at]));
    put_word(line.data, at, word);
  }
  return worst;
}

void flip(CodedLine& line, std::size_t word, std::uint32_t bit) {
  if (bit < kDataBits) {
    put_word(line.data, word, word_at(line.data, word) ^ std::uint64_t{1} << bit);
  } else {
    line.check[word] ^= static_cast<std::uint8_t>(1u << (bit - kDataBits));
  }
}

}  // namespace pmemsim
