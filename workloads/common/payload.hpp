// The data that workloads store: words computed from a key and a stamp. So a check of the pool or
// of a crash image can verify that an item is complete.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random.hpp"

namespace workload {

// The data of a structure's items.
class Payload {
 public:
  // `duplicates`, out of 2^64, is the share of lines with one of kDuplicates common contents. A
  // controller could deduplicate such lines.
  constexpr Payload(std::uint64_t bytes, std::uint64_t duplicates)
      : words_(bytes / sizeof(std::uint64_t)), duplicates_(duplicates) {}

  // Returns the data's word number `index`.
  constexpr std::uint64_t word(std::uint64_t key, std::uint64_t stamp, std::size_t index) const {
    std::uint64_t number = (key ^ stamp * kGolden) + index * kStep;
    if (duplicates_ > 0) {
      const std::uint64_t line = mix((key ^ stamp * kGolden) + index / kLineWords);
      if (line < duplicates_) number = mix(line) % kDuplicates + index % kLineWords * kStep;
    }
    return number ^ (number >> 29);
  }

  void fill(void* data, std::uint64_t key, std::uint64_t stamp) const {
    auto* words = static_cast<std::uint64_t*>(data);
    for (std::size_t i = 0; i < words_; ++i) words[i] = word(key, stamp, i);
  }

  bool matches(const void* data, std::uint64_t key, std::uint64_t stamp) const {
    const auto* words = static_cast<const std::uint64_t*>(data);
    for (std::size_t i = 0; i < words_; ++i)
      if (words[i] != word(key, stamp, i)) return false;
    return true;
  }

 private:
  static constexpr std::size_t kLineWords = 8;
  static constexpr std::uint64_t kDuplicates = 16;
  static constexpr std::uint64_t kStep = 0xbf58476d1ce4e5b9;

  std::size_t words_;
  std::uint64_t duplicates_;
};

}  // namespace workload
