// The occupancy of a channel's data bus. Bursts are reserved ahead of time. A row that has just
// been activated sends its data tRCD later, and a row hit that is issued in the meantime may go
// before it.
#pragma once

#include <cassert>
#include <cstddef>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class DataBus {
 public:
  explicit DataBus(Picoseconds burst) : burst_(burst) { starts_.reserve(256); }

  // Returns the first time, not before `from`, at which a burst fits.
  Time first_free(Time from) const {
    Time start = max(from, floor_);
    if (start >= end_) return start;
    for (std::size_t i = first_; i < starts_.size(); ++i) {
      if (start + burst_ <= starts_[i]) break;
      start = max(start, starts_[i] + burst_);
    }
    return start;
  }

  // Reserves a burst. `start` must be a result of first_free(). Later requests must not start
  // before `now`.
  void reserve(Time start, Time now) {
    assert(start >= now && start >= floor_);
    while (first_ < starts_.size() && starts_[first_] + burst_ <= now) ++first_;
    if (first_ > 64) {
      starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    std::size_t place = starts_.size();
    while (place > first_ && starts_[place - 1] > start) --place;
    starts_.insert(starts_.begin() + static_cast<std::ptrdiff_t>(place), start);
    end_ = max(end_, start + burst_);
  }

  // Turns the bus around. Later bursts follow all reserved ones, after a gap.
  void turn(Picoseconds gap) {
    floor_ = end_ + gap;
    starts_.clear();
    first_ = 0;
  }

 private:
  Picoseconds burst_;
  Time floor_{};
  Time end_{};                // end of the last burst
  std::vector<Time> starts_;  // sorted, from index first_ on
  std::size_t first_ = 0;
};

}  // namespace pmemsim
