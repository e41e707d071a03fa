// A core's region in one number, for use as the owner of its writes (Write::owner). It is never 0,
// since cores count their regions from 1.
#pragma once

#include <cstdint>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

inline constexpr unsigned kRegionBits = 48;
constexpr std::uint64_t region_id(CoreId core, std::uint64_t region) {
  return std::uint64_t{core} << kRegionBits | region;
}
constexpr CoreId core_of(std::uint64_t region_id) {
  return static_cast<CoreId>(region_id >> kRegionBits);
}
constexpr std::uint64_t region_number(std::uint64_t region_id) {
  return region_id & ((std::uint64_t{1} << kRegionBits) - 1);
}

}  // namespace pmemsim
