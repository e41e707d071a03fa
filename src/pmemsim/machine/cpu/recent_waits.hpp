// The recent waits of a store queue's head, by cause. The causes separate waits for a fence or a
// commit from waits for a free entry.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "pmemsim/machine/cpu/cycle_account.hpp"

namespace pmemsim {

class RecentWaits {
 public:
  using ByCause = std::array<Slot, kCauses>;
  // An interval's parts, by what was at the head: a fence, a region's begin or end, or stores.
  struct Parts {
    Slot fence = 0, commit = 0, stores = 0;
  };

  void add(Slot from, Slot until, Cause cause) {
    waits_[next_++ % waits_.size()] = {from, until, cause};
  }
  // Returns how much of an interval the head spent waiting for each cause.
  ByCause by_cause(Slot from, Slot until) const {
    ByCause sums{};
    for (const Wait& wait : waits_) {
      sums[static_cast<std::size_t>(wait.cause)] += wait.part(from, until);
    }
    return sums;
  }
  Slot of(Cause cause, Slot from, Slot until) const {
    Slot sum = 0;
    for (const Wait& wait : waits_) {
      if (wait.cause == cause) sum += wait.part(from, until);
    }
    return sum;
  }
  Parts parts(Slot from, Slot until) const {
    const Slot fence = of(Cause::kFence, from, until), commit = of(Cause::kCommit, from, until);
    return {fence, commit, until - from - fence - commit};
  }

 private:
  struct Wait {
    Slot from = 0, until = 0;
    Cause cause = Cause::kStoreQueue;

    // Returns the part of an interval in which this wait lasted.
    Slot part(Slot begin, Slot end) const {
      return std::max<Slot>(std::min(end, until) - std::max(begin, from), 0);
    }
  };

  std::array<Wait, 16> waits_{};
  std::size_t next_ = 0;
};

}  // namespace pmemsim
