// The number of writes that the backend holds, for each bank of the device that their lines select.
// In a profiled run, the time in which writes are held is recorded, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/machine/memory/request_stages.hpp"

namespace pmemsim {

class HeldByBank {
 public:
  explicit HeldByBank(std::size_t banks) : held_(banks) {}

  void profile(RequestStages* stages) { stages_ = stages; }
  void add(std::uint32_t bank, Time now) {
    ++held_[bank];
    ++count_;
    if (stages_ != nullptr) stages_->hold(1, now);
  }
  void remove(std::uint32_t bank, Time now) {
    --held_[bank];
    --count_;
    if (stages_ != nullptr) stages_->hold(-1, now);
  }
  std::uint64_t count() const { return count_; }
  // Returns the sums of these operations, by bank, and of the held writes. The result is valid
  // until the next call.
  std::span<const std::uint32_t> added_to(std::span<const std::uint32_t> queued) const {
    if (count_ == 0) return queued;
    sums_.assign(queued.begin(), queued.end());
    for (std::size_t bank = 0; bank < sums_.size(); ++bank) sums_[bank] += held_[bank];
    return sums_;
  }

 private:
  std::vector<std::uint32_t> held_;
  std::uint64_t count_ = 0;
  mutable std::vector<std::uint32_t> sums_;
  RequestStages* stages_ = nullptr;  // nullptr: the run isn't profiled
};

}  // namespace pmemsim
