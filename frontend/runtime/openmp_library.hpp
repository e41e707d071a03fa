// Tells the calls of LLVM's or Intel's OpenMP library from those of the program.
#pragma once

#include <cstdint>

#include "address_range.hpp"

namespace pmemsim::rt {

// The library's code; empty: the program has no such library.
extern Range openmp_code;

// Returns the library's function of this name, which the runtime's own replaces. The library may
// have been loaded by dlopen(), so that it isn't behind the program in the global order.
void* openmp_function(const char* name);

// Sets `openmp_code` to the library that contains the address.
void note_openmp_library(const void* inside);

inline bool has_openmp() { return openmp_code.end != 0; }

// True if the address is one of the library's code, such as that to which one of its calls returns.
inline bool is_openmp(const void* code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  return address - openmp_code.begin < openmp_code.end - openmp_code.begin;
}

}  // namespace pmemsim::rt
