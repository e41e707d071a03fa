// A gshare branch predictor (McFarling, "Combining branch predictors", WRL TN-36, 1993): two-bit
// counters, indexed by the branch's site and the latest outcomes.
#pragma once

#include <cstdint>
#include <vector>

namespace pmemsim {

class BranchPredictor {
 public:
  explicit BranchPredictor(std::uint32_t index_bits)
      : mask_((1u << index_bits) - 1), counters_(std::size_t{1} << index_bits, kWeaklyTaken) {}

  // Learns the outcome; true if it had been predicted.
  bool predicted(std::uint32_t site, bool taken) {
    // Sites are dense numbers: spread them, so that neighbours don't share counters.
    std::uint8_t& counter = counters_[((site * 0x9E3779B1u >> 8) ^ history_) & mask_];
    const bool right = (counter >= kWeaklyTaken) == taken;
    if (taken) {
      if (counter < kStronglyTaken) ++counter;
    } else if (counter > 0) {
      --counter;
    }
    history_ = (history_ << 1) | (taken ? 1 : 0);
    return right;
  }

 private:
  static constexpr std::uint8_t kWeaklyTaken = 2, kStronglyTaken = 3;
  std::uint32_t mask_;
  std::uint32_t history_ = 0;
  std::vector<std::uint8_t> counters_;
};

}  // namespace pmemsim
