// A gshare branch predictor (McFarling, "Combining branch predictors", WRL TN-36, 1993). Two-bit
// counters are indexed by the branch's site and the latest outcomes.
#pragma once

#include <cstdint>
#include <vector>

namespace pmemsim {

class BranchPredictor {
 public:
  explicit BranchPredictor(std::uint32_t index_bits)
      : mask_((1u << index_bits) - 1),
        counters_(((std::size_t{1} << index_bits) + kInByte - 1) / kInByte, kAllWeaklyTaken) {}

  // Trains with the outcome. True if it had been predicted.
  bool predicted(std::uint32_t site, bool taken) {
    // Sites are dense numbers; the factor spreads them so that neighbours don't share counters.
    const std::uint32_t index = ((site * 0x9E3779B1u >> 8) ^ history_) & mask_;
    std::uint8_t& byte = counters_[index / kInByte];
    const unsigned shift = index % kInByte * 2;
    const unsigned counter = byte >> shift & 3;
    const bool right = (counter >= kWeaklyTaken) == taken;
    if (taken && counter < kStronglyTaken) byte = static_cast<std::uint8_t>(byte + (1u << shift));
    if (!taken && counter > 0) byte = static_cast<std::uint8_t>(byte - (1u << shift));
    history_ = (history_ << 1) | (taken ? 1 : 0);
    return right;
  }

 private:
  static constexpr unsigned kWeaklyTaken = 2, kStronglyTaken = 3;
  // Four counters are in a byte, like in hardware, so that the tables of many cores fit into the
  // host's caches.
  static constexpr unsigned kInByte = 4;
  static constexpr std::uint8_t kAllWeaklyTaken = 0b10101010;
  std::uint32_t mask_;
  std::uint32_t history_ = 0;
  std::vector<std::uint8_t> counters_;
};

}  // namespace pmemsim
