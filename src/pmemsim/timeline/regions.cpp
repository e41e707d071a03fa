#include "pmemsim/timeline/regions.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"

namespace pmemsim {
namespace {

// The regions of each core by number.
class RegionTable {
 public:
  void add(const StageEvent& event) {
    switch (event.stage) {
      case Stage::kRegionBegin: {
        TimelineRegion& region = find(event);
        region.begin = min(region.begin, event.at[0]);
        ++region.executions;
        return;
      }
      case Stage::kRegionEnd:
        find(event).retired = event.at[0];
        return;
      case Stage::kRegionDurable: {
        TimelineRegion& region = find(event);
        region.durable = min(region.durable, event.at[0]);
        return;
      }
      default:
        return;
    }
  }
  std::vector<TimelineRegion> all() const {
    std::vector<TimelineRegion> found;
    for (const std::vector<TimelineRegion>& core : cores_) {
      std::ranges::copy_if(core, std::back_inserter(found), &TimelineRegion::complete);
    }
    std::ranges::sort(found, {}, [](const TimelineRegion& region) {
      return std::tuple(region.begin, region.core, region.number);
    });
    return found;
  }

 private:
  TimelineRegion& find(const StageEvent& event) {
    if (event.unit >= cores_.size()) cores_.resize(event.unit + 1);
    std::vector<TimelineRegion>& regions = cores_[event.unit];
    while (regions.size() < event.id) {
      regions.push_back({.core = event.unit, .number = regions.size() + 1});
    }
    return regions[event.id - 1];
  }

  std::vector<std::vector<TimelineRegion>> cores_;
};

[[noreturn]] void refuse(const TimelineBounds& bounds, const std::vector<TimelineRegion>& all) {
  const auto last = std::ranges::max_element(all, {}, &TimelineRegion::number);
  if (last == all.end()) {
    throw Error(
        "the recording has no regions, which pm_begin() and pm_end() mark; bound the timeline by "
        "times instead");
  }
  const std::string numbers =
      bounds.last_region == 0
          ? std::string("no region")
          : fmt::format("none of the regions {} to {}", bounds.first_region, bounds.last_region);
  throw Error(fmt::format(
      "{} is within the bounds of the timeline; the regions of a thread are numbered up to {}, and "
      "the last one ends {} ns after the start",
      numbers, last->number,
      std::ranges::max_element(all, {}, &TimelineRegion::end)->end().count / 1000));
}

}  // namespace

std::vector<TimelineRegion> regions_of(const StageLog& log) {
  RegionTable table;
  log.for_each([&](const StageEvent& event) { table.add(event); });
  return table.all();
}

Intervals::Intervals(const TimelineBounds& bounds, std::vector<TimelineRegion>& regions) {
  if (bounds.last_region == 0 && bounds.slowest == 0) {
    add(bounds.from, bounds.until);
    return;
  }
  std::vector<TimelineRegion*> chosen;
  for (TimelineRegion& region : regions) {
    const bool numbered = bounds.last_region == 0 || (region.number >= bounds.first_region &&
                                                      region.number <= bounds.last_region);
    if (numbered && region.begin <= bounds.until && region.end() >= bounds.from) {
      chosen.push_back(&region);
    }
  }
  if (chosen.empty()) refuse(bounds, regions);
  if (bounds.slowest > 0) {
    std::ranges::sort(chosen, {}, [](const TimelineRegion* region) {
      return std::tuple(Picoseconds{0} - region->duration(), region->begin, region->core);
    });
    chosen.resize(std::min<std::size_t>(chosen.size(), bounds.slowest));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      chosen[i]->rank = static_cast<std::uint32_t>(i + 1);
    }
  }
  std::ranges::sort(chosen, {}, &TimelineRegion::begin);
  for (const TimelineRegion* region : chosen) add(region->begin, region->end());
}

// Adds an interval that begins no earlier than the last one.
void Intervals::add(Time from, Time until) {
  if (!all_.empty() && from <= all_.back().until) {
    all_.back().until = max(all_.back().until, until);
  } else {
    all_.push_back({from, until});
  }
}

Time Intervals::begin_of(Time within) const {
  return std::ranges::lower_bound(all_, within, {}, &Interval::until)->from;
}

bool Intervals::overlap(Time begin, Time end) const {
  const auto first = std::ranges::lower_bound(all_, begin, {}, &Interval::until);
  return first != all_.end() && first->from <= end;
}

}  // namespace pmemsim
