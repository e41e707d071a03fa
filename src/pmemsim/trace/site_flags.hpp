// What a site's flags say, beside kSiteFullFence: where in the compiled program it stands.
#pragma once

#include <cstdint>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::trace {

inline constexpr std::uint8_t kSiteInlined = 2;      // its function was inlined into a compiled one
inline constexpr std::uint8_t kSiteNewFunction = 4;  // the first site of a compiled function
inline constexpr std::uint8_t kSiteFlags = kSiteFullFence | kSiteInlined | kSiteNewFunction;

}  // namespace pmemsim::trace
