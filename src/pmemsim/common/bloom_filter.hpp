// Bloom filters of lines. A filter may report a line that was never inserted (a false positive).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// Computes the positions of a line in a filter.
class BloomHash {
 public:
  static constexpr std::uint64_t kHashes = 4;

  explicit BloomHash(std::uint64_t size) : size_(size) {}

  // Double hashing: Kirsch and Mitzenmacher, "Less Hashing, Same Performance", ESA 2006.
  std::size_t position(Line line, std::uint64_t hash) const {
    std::uint64_t mixed = (line.number ^ line.number >> 31) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 32;
    return ((mixed & 0xffffffff) + hash * ((mixed >> 32) | 1)) % size_;
  }

 private:
  std::uint64_t size_;  // number of bits or counters of the filter
};

// A Bloom filter that can only remove all lines at once.
class BloomFilter {
 public:
  explicit BloomFilter(Bytes size) : hash_(size.count * 8), bits_(size.count * 8) {}

  void insert(Line line) {
    empty_ = false;
    for (std::uint64_t hash = 0; hash < BloomHash::kHashes; ++hash) {
      bits_[hash_.position(line, hash)] = true;
    }
  }
  bool contains(Line line) const {
    if (empty_) return false;
    for (std::uint64_t hash = 0; hash < BloomHash::kHashes; ++hash) {
      if (!bits_[hash_.position(line, hash)]) return false;
    }
    return true;
  }
  void clear() {
    if (!empty_) std::fill(bits_.begin(), bits_.end(), false);
    empty_ = true;
  }

 private:
  BloomHash hash_;
  std::vector<bool> bits_;
  bool empty_ = true;
};

// A Bloom filter with counters in place of bits, so that single lines can be removed.
class CountingBloomFilter {
 public:
  explicit CountingBloomFilter(std::uint64_t counters) : hash_(counters), counters_(counters) {}

  void insert(Line line) {
    for (std::uint64_t hash = 0; hash < BloomHash::kHashes; ++hash) {
      ++counters_[hash_.position(line, hash)];
    }
  }
  // Removes a line that was inserted before.
  void remove(Line line) {
    for (std::uint64_t hash = 0; hash < BloomHash::kHashes; ++hash) {
      --counters_[hash_.position(line, hash)];
    }
  }
  bool contains(Line line) const {
    for (std::uint64_t hash = 0; hash < BloomHash::kHashes; ++hash) {
      if (counters_[hash_.position(line, hash)] == 0) return false;
    }
    return true;
  }

 private:
  BloomHash hash_;
  std::vector<std::uint32_t> counters_;
};

}  // namespace pmemsim
