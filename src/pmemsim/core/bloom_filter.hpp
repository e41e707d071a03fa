// A non-counting Bloom filter of lines: may know a line that was never put in, and forgets only all
// of them at once.
#pragma once

#include <algorithm>
#include <vector>

#include "pmemsim/core/units.hpp"

namespace pmemsim {

class BloomFilter {
 public:
  explicit BloomFilter(Bytes size) : bits_(size.count * 8) {}

  void insert(Line line) {
    empty_ = false;
    for (std::uint64_t hash = 0; hash < kHashes; ++hash) bits_[place(line, hash)] = true;
  }
  bool contains(Line line) const {
    if (empty_) return false;
    for (std::uint64_t hash = 0; hash < kHashes; ++hash) {
      if (!bits_[place(line, hash)]) return false;
    }
    return true;
  }
  void clear() {
    if (!empty_) std::fill(bits_.begin(), bits_.end(), false);
    empty_ = true;
  }

 private:
  static constexpr std::uint64_t kHashes = 4;

  // Double hashing: Kirsch and Mitzenmacher, "Less Hashing, Same Performance", ESA 2006.
  std::size_t place(Line line, std::uint64_t hash) const {
    std::uint64_t mixed = (line.number ^ line.number >> 31) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 32;
    return ((mixed & 0xffffffff) + hash * ((mixed >> 32) | 1)) % bits_.size();
  }

  std::vector<bool> bits_;
  bool empty_ = true;
};

}  // namespace pmemsim
