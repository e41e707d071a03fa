// The regions of a core whose end has retired while some of their stores are still in the store
// queue. Their time until the last store has left the queue is a statistic.
#pragma once

#include <cstdint>
#include <deque>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cpu/core_statistics.hpp"

namespace pmemsim {

class DrainingRegions {
 public:
  DrainingRegions(const Clock& clock, CoreStatistics& statistics)
      : clock_(clock), statistics_(statistics) {}

  // Adds a region that began at `began`. `until` is the number of the first store after it.
  void add(std::uint64_t until, Slot began) { regions_.push_back({until, began}); }
  // Counts the regions whose stores have left the queue. `head` is the number of the queue's head.
  void drained(std::uint64_t head, Slot slot) {
    while (!regions_.empty() && regions_.front().until <= head) count_oldest(slot);
  }
  void clear() { regions_.clear(); }

 private:
  struct Region {
    std::uint64_t until;
    Slot began;
  };

  [[gnu::noinline]] void count_oldest(Slot slot) {
    statistics_.drained_region_time += clock_.time(slot) - clock_.time(regions_.front().began);
    regions_.pop_front();
  }

  const Clock clock_;
  CoreStatistics& statistics_;
  std::deque<Region> regions_;
};

}  // namespace pmemsim
