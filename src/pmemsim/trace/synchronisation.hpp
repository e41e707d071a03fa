// How threads wait for each other in a recording. Each lock, atomic variable and the like is an
// object with a version (format.hpp), which its releases raise.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pmemsim/trace/layout.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

inline bool synchronises(const Operation& operation) {
  return layout_of(static_cast<std::uint8_t>(operation.kind)).object != 0;
}

inline bool writes_atomic(const Operation& operation) {
  return operation.kind == SiteKind::kAtomicStore ||
         (operation.kind == SiteKind::kAtomicUpdate && operation.flag);
}

// Of operations that synchronise: whether this one raises the version.
inline bool releases(const Operation& operation) {
  return operation.kind == SiteKind::kSync ? !is_acquire(static_cast<SyncKind>(operation.detail))
                                           : writes_atomic(operation);
}

// The version of its object that an operation waits for. A release by kSync waits for nothing; a
// write to an atomic variable follows the write before.
inline std::uint32_t awaited_version(const Operation& operation) {
  if (!releases(operation)) return operation.version;
  return operation.kind == SiteKind::kSync ? 0 : std::max(operation.version, 1u) - 1;
}

}  // namespace pmemsim::trace
