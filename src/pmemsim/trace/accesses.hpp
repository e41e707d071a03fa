// Which operations change memory.
#pragma once

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

// An atomic update may find that there is nothing to store.
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

}  // namespace pmemsim::trace
