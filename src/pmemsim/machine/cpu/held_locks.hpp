// The locks that a core's thread holds, and which of its operations keep their recorded order
// because of them.
//
//   1  In recorded order, every operation on a lock or an atomic variable keeps its place.
//   2  In simulated order, simulated time decides who acquires a lock, also one that the program
//      implements itself. Operations under a lock then follow the order of that lock.
#pragma once

#include <cstdint>

#include "pmemsim/machine/cpu/core_statistics.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {

class HeldLocks {
 public:
  HeldLocks(LockOrder order, CoreStatistics& statistics) : order_(order), statistics_(statistics) {}

  // Counts an operation on a lock of the library, or on one that the program implements.
  void count(trace::SyncKind kind) {
    if (trace::is_lock(kind)) {
      ++statistics_.locks;
      ++held_;
    } else if (trace::is_unlock(kind)) {
      release();
    }
  }
  void count(trace::LockRole role) {
    if (role == trace::LockRole::kTakes) ++held_;
    if (role == trace::LockRole::kGivesBack) release();
  }
  // Returns an operation's effect on a lock that the program implements itself, if simulated time
  // decides the order of locks.
  trace::LockRole role(const trace::Operation& operation) const {
    if (order_ == LockOrder::kRecorded) return trace::LockRole::kNone;
    const auto role = static_cast<trace::LockRole>(operation.detail);
    const bool tries = operation.kind == trace::SiteKind::kAtomicUpdate && !operation.flag;
    return role != trace::LockRole::kNone && tries ? trace::LockRole::kOther : role;
  }
  // True if an operation of this role on an atomic variable has to keep its recorded order.
  bool in_recorded_order(trace::LockRole role) const {
    return role == trace::LockRole::kNone && (order_ == LockOrder::kRecorded || held_ == 0);
  }

  std::uint32_t held() const { return held_; }
  // Continues with the locks of an earlier time, after a rollback.
  void roll_back(std::uint32_t held) { held_ = held; }

 private:
  void release() {
    if (held_ > 0) --held_;  // otherwise the lock was acquired before the recording began
  }

  const LockOrder order_;
  CoreStatistics& statistics_;
  std::uint32_t held_ = 0;
};

}  // namespace pmemsim
