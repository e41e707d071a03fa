// Code that is not instrumented.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reserved_memory.hpp"

namespace pmemsim::rt {

// Records instructions that were executed without instrumentation. `unknown`: those of a function
// whose cost isn't known.
void put_external(std::uint64_t instructions, bool unknown = false);

// The functions of unknown cost, and their calls.
struct UnknownFunction {
  const char* name;
  std::uint64_t calls;
};
inline constexpr std::size_t kMaxUnknownFunctions = 1 << 16;
extern List<UnknownFunction, kMaxUnknownFunctions> unknown_functions;

}  // namespace pmemsim::rt
