// The encoding of a site's dependence (format.hpp): (site << 8) | cycles, and kDivides. If one of
// the instructions is an integer division, kDivides is set, and the cycles contain kDivisionCycles
// for it, which a machine may replace.
#pragma once

#include <cstdint>

namespace pmemsim::trace {

inline constexpr std::uint32_t kDivides = 1u << 31;
inline constexpr std::uint32_t kDivisionCycles = 26;  // Fog, Skylake: DIV, IDIV r32
// Sites that a dependence can name.
inline constexpr std::uint32_t kMaxDependenceSites = kDivides >> 8;

constexpr std::uint32_t dependence_site(std::uint32_t dependence) {
  return (dependence & ~kDivides) >> 8;
}

}  // namespace pmemsim::trace
