// Janus's pre-execution hints (pm_pre_ in pm.h) for single writes: one object each, as in the
// paper's figure 8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmemsim/pm.h"

namespace workload {

// True if the workloads' sources contain hints. Alternatively the compiler inserts them (pmemsim-cc
// --janus-auto).
#ifdef WORKLOAD_WITHOUT_HINTS
inline constexpr bool kHints = false;
#else
inline constexpr bool kHints = true;
#endif

// Announces that the contents of `data` will be written to `address`.
inline void announce(const void* address, const void* data, std::size_t bytes) {
  pm_pre hint;
  pm_pre_init(&hint);
  pm_pre_both(&hint, address, data, bytes);
}

// Announces the value of a word whose store takes effect at once, such as a pointer or a flag.
inline void announce_value(const void* address, std::uint64_t value) {
  pm_pre hint;
  pm_pre_init(&hint);
  pm_pre_both_val(&hint, address, value);
}

inline void announce_pointer(const void* address, const void* pointer) {
  announce_value(address, reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace workload
