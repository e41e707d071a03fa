// The flags of a site, beside kSiteFullFence. They describe its position in the compiled program.
#pragma once

#include <cstdint>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::trace {

inline constexpr std::uint8_t kSiteInlined = 2;      // its function was inlined into a compiled one
inline constexpr std::uint8_t kSiteNewFunction = 4;  // the first site of a compiled function
inline constexpr std::uint8_t kSiteEntry = 8;        // a call of its compiled function begins
inline constexpr std::uint8_t kSiteExit = 16;        // the call returns, or an exception leaves it
inline constexpr std::uint8_t kSiteFlags =
    kSiteFullFence | kSiteInlined | kSiteNewFunction | kSiteEntry | kSiteExit;

}  // namespace pmemsim::trace
