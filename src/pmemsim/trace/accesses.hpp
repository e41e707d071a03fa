// Classification of operations by whether they read or change memory.
#pragma once

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

inline bool loads_something(const Operation& operation) {
  return operation.kind == SiteKind::kLoad || operation.kind == SiteKind::kAtomicLoad ||
         operation.kind == SiteKind::kAtomicUpdate || operation.kind == SiteKind::kCopyLoad;
}

// True if the operation changes memory. An atomic update may store nothing.
inline bool stores_something(const Operation& operation) {
  switch (operation.kind) {
    case SiteKind::kStore:
    case SiteKind::kNonTemporal:
    case SiteKind::kAtomicStore:
    case SiteKind::kCopyStore:
      return true;
    default:
      return operation.kind == SiteKind::kAtomicUpdate && operation.flag;
  }
}

// True for a fence that orders stores: sfence or mfence.
inline bool fences_stores(const Operation& operation) {
  return operation.kind == SiteKind::kFence &&
         operation.detail != static_cast<std::uint8_t>(FenceKind::kLfence);
}

}  // namespace pmemsim::trace
