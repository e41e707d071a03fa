// Pointers that stored pointers lead to: the first of the predictors that PMWeaver names as ones
// that it could take in (VII: "next pointer prediction can improve the accuracy of PM address
// prediction"; Collins et al., MICRO 2002, and content-directed prefetching, which looks for
// pointers in lines).
//
//   1  A write's address that no store has may stand in a line of PM that a store has the address
//      of: word n of the line that the value points to. Of several stores the oldest counts.
//   2  The word is read, as the caches have it, when all else of the prediction is known. [Open]
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

class NextPointers {
 public:
  // The newest contents of PM; what isn't PM holds nothing there.
  explicit NextPointers(const Image& pm) : pm_(&pm) {}

  // Which word of the line holds an address within the other one.
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
