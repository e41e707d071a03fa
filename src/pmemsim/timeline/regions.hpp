// The regions of a run in time, and the intervals of a timeline that they select.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pmemsim/common/stage_log.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"

namespace pmemsim {

struct TimelineRegion {
  CoreId core = 0;
  std::uint64_t number = 0;  // number among the core's regions, from 1
  Time begin = kNever;       // retirement of its begin
  Time retired = kNever;     // retirement of its end
  Time durable = kNever;     // kNever: the design doesn't make it durable
  std::uint32_t executions = 0;
  std::uint32_t rank = 0;  // 1: the slowest one; 0: none of the slowest
  // Waits of the core's store queue during the region, if it is one of the slowest.
  std::array<Picoseconds, kCauses> stalls{};

  bool complete() const { return begin != kNever && retired != kNever; }
  Time end() const { return durable == kNever ? retired : max(retired, durable); }
  Picoseconds duration() const { return end() - begin; }
};

// The part of a run that a timeline shows.
struct TimelineBounds {
  Time from{};
  Time until = kNever;
  std::uint64_t first_region = 0;  // with last_region: numbers of each core's regions; 0: all
  std::uint64_t last_region = 0;
  std::uint32_t slowest = 0;  // number of regions; 0: all
};

// Returns all regions that ended, in the order of their begins. A region that was rolled back is
// one region, from its first begin to its last end.
std::vector<TimelineRegion> regions_of(const StageLog& log);

// Intervals of time, disjoint and in order.
class Intervals {
 public:
  struct Interval {
    Time from, until;
  };
  // Selects the whole time between the bounds, or the times of the regions within all bounds. With
  // `slowest`, these get their ranks. Throws Error if no region is within the bounds.
  Intervals(const TimelineBounds& bounds, std::vector<TimelineRegion>& regions);

  bool overlap(Time begin, Time end) const;
  // Returns the begin of the interval that contains a time.
  Time begin_of(Time within) const;

 private:
  void add(Time from, Time until);

  std::vector<Interval> all_;
};

}  // namespace pmemsim
