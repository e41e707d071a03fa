// What the workloads store as data: words that follow from a key and a stamp, so that a check, here
// or on an image, can tell whether an item is whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random.hpp"

namespace workload {

// The data's word number `index`.
constexpr std::uint64_t payload_word(std::uint64_t key, std::uint64_t stamp, std::size_t index) {
  const std::uint64_t word = (key ^ stamp * kGolden) + index * 0xbf58476d1ce4e5b9;
  return word ^ (word >> 29);
}

inline void fill_payload(void* data, std::size_t bytes, std::uint64_t key, std::uint64_t stamp) {
  auto* word = static_cast<std::uint64_t*>(data);
  for (std::size_t i = 0; i < bytes / sizeof *word; ++i) word[i] = payload_word(key, stamp, i);
}

inline bool payload_matches(const void* data, std::size_t bytes, std::uint64_t key,
                            std::uint64_t stamp) {
  const auto* word = static_cast<const std::uint64_t*>(data);
  for (std::size_t i = 0; i < bytes / sizeof *word; ++i)
    if (word[i] != payload_word(key, stamp, i)) return false;
  return true;
}

}  // namespace workload
