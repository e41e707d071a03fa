// The rules by which threads of a recording wait for each other. Each lock, atomic variable and
// similar object has a version (format.hpp), which its releases raise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim::trace {

inline bool synchronises(const Operation& operation) {
  return layout_of(static_cast<std::uint8_t>(operation.kind)).object != 0;
}

inline bool writes_atomic(const Operation& operation) {
  return operation.kind == SiteKind::kAtomicStore ||
         (operation.kind == SiteKind::kAtomicUpdate && operation.flag);
}

// True if the operation, which must synchronise, raises the version.
inline bool releases(const Operation& operation) {
  return operation.kind == SiteKind::kSync ? !is_acquire(static_cast<SyncKind>(operation.detail))
                                           : writes_atomic(operation);
}

// Returns the version of its object that an operation waits for. A release by kSync waits for
// nothing. A write to an atomic variable follows the previous write.
inline std::uint32_t awaited_version(const Operation& operation) {
  if (!releases(operation)) return operation.version;
  return operation.kind == SiteKind::kSync ? 0 : std::max(operation.version, 1u) - 1;
}

// The version of an object up to which all of its releases have happened. A wait for a version is a
// wait for all releases up to it. At a barrier, a thread thus waits for all arriving threads, not
// only for the last one of the recording. Releases may happen in another order than recorded, and
// again after a rollback.
class ReachedVersion {
 public:
  std::uint32_t number() const { return number_; }

  // Releases this version and all earlier ones.
  void release_up_to(std::uint32_t version) { number_ = std::max(number_, version); }

  void release(std::uint32_t version) {
    if (version <= number_) return;
    if (version - number_ > 1) return early_.push(version);
    number_ = version;
    for (; !early_.empty() && early_.top() - 1 <= number_; early_.pop()) {
      number_ = std::max(number_, early_.top());
    }
  }

 private:
  std::uint32_t number_ = 0;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> early_;
};

}  // namespace pmemsim::trace
