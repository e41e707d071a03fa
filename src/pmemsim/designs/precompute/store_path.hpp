// The instructions of the latest stores: PMWeaver's PC path (V-A1, Figure 14a).
//
// The hash is the XOR of the latest program counters. The oldest is unshifted; each later one is
// shifted by one bit more. [Open: which end is shifted, here as in the authors' artifact; 64 bits,
// bits that are shifted out are lost.] A program counter has 48 bits here, as virtual addresses do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pmemsim {

class StorePath {
 public:
  // `length`: number of stores in the path, 64 at most.
  explicit StorePath(std::size_t length) : sites_(length) {}

  void push(std::uint64_t site) {
    site &= kSiteBits;
    std::uint64_t& oldest = sites_[next_];
    sum_ = (sum_ ^ oldest) >> 1 ^ static_cast<Sum>(site) << (sites_.size() - 1);
    oldest = site;
    next_ = next_ + 1 == sites_.size() ? 0 : next_ + 1;
  }
  std::uint64_t hash() const { return static_cast<std::uint64_t>(sum_); }

 private:
  static constexpr std::uint64_t kSiteBits = (std::uint64_t{1} << 48) - 1;
  // Type that holds all shifted bits, so that none is lost when the oldest is removed.
  __extension__ using Sum = unsigned __int128;

  std::vector<std::uint64_t> sites_;  // ring buffer
  std::size_t next_ = 0;
  Sum sum_ = 0;
};

}  // namespace pmemsim
