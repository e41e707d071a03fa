// The mapping of lines that are levelled region by region (start_gap.hpp). It follows from the
// regions' registers alone, both while the memory is in use and when recovery reads an image.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/start_gap.hpp"

namespace pmemsim {

class StartGapRegions {
 public:
  // Registers, keyed by the region's number. A region without registers counts as one whose gap has
  // never moved.
  using Registers = std::unordered_map<std::uint64_t, StartGap>;

  explicit StartGapRegions(std::uint64_t region_lines, Registers registers = {})
      : region_lines_(region_lines), registers_(std::move(registers)) {}

  std::uint64_t region_of(Line place) const {
    return is_spare(place) ? place.number - kSpare : place.number / region_lines_;
  }
  Line in_region(std::uint64_t region, std::uint64_t place) const {
    if (place == region_lines_) return {kSpare + region};
    return {region * region_lines_ + place};
  }
  StartGap& registers_of(std::uint64_t region) {
    return registers_.try_emplace(region, region_lines_).first->second;
  }
  const Registers& registers() const { return registers_; }

  Line place(Line line) const {
    const auto region = registers_.find(region_of(line));
    if (region == registers_.end()) return line;
    return in_region(region->first, region->second.place_of(line.number % region_lines_));
  }
  // Returns the line at a place; none at a region's gap.
  std::optional<Line> line_at(Line place) const {
    const auto region = registers_.find(region_of(place));
    if (region == registers_.end()) return place;
    const std::uint64_t within = is_spare(place) ? region_lines_ : place.number % region_lines_;
    const auto line = region->second.line_at(within);
    if (!line) return {};
    return in_region(region->first, *line);
  }

 private:
  // The first line numbers of the regions' spare places and of metadata, which belong to no region.
  static constexpr std::uint64_t kSpare = std::uint64_t{1} << 56,
                                 kMetadata = std::uint64_t{1} << 53;

  static bool is_spare(Line place) {
    return place.number >= kSpare && place.number < kSpare + kMetadata;
  }

  std::uint64_t region_lines_;
  Registers registers_;
};

}  // namespace pmemsim
