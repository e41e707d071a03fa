// Next pointers: pointers that are in a line whose address has been stored. This is the first of
// the predictors that PMWeaver names as extensions (VII: "next pointer prediction can improve the
// accuracy of PM address prediction"; Collins et al., MICRO 2002, and content-directed prefetching,
// which looks for pointers in lines).
//
//   1  If no store has a write's address as its value, the address may be in a line of PM whose own
//      address was stored: it is word n of that line. If several stores match, the oldest counts.
//   2  The word is read from the caches when all other values of the prediction are known. [Open]
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

class NextPointers {
 public:
  // `pm`: the newest contents of PM; lines outside PM are empty.
  explicit NextPointers(const Image& pm) : pm_(&pm) {}

  // Returns the index of the word of `holder` that contains an address within `pointed`.
  std::optional<std::uint8_t> word_to(Line holder, Line pointed) const {
    const LineData data = pm_->read(holder);
    for (std::uint8_t word = 0; word < kWords; ++word) {
      if (line_at(data, word) == pointed) return word;
    }
    return {};
  }
  Line follow(Line holder, std::uint8_t word) const { return line_at(pm_->read(holder), word); }

 private:
  static constexpr std::uint8_t kWords = kLineBytes / sizeof(std::uint64_t);

  static Line line_at(const LineData& data, std::uint8_t word) {
    std::uint64_t address;
    std::memcpy(&address, &data[word * sizeof address], sizeof address);
    return Line::of(address);
  }

  const Image* pm_;
};

}  // namespace pmemsim
