// The acquisitions and releases of one core's thread: of locks, conditions, semaphores and atomic
// variables.
//
//   1  Each operation takes effect once. A thread that has been rolled back executes operations
//      again, which then have no effect. Acquisitions, and releases, are numbered in program order.
//   2  The layers are notified of acquisitions in program order. A lock may be acquired before
//      older stores have left the store queue; the layers are notified after these stores.
//   3  A release takes effect at its simulated time, when other cores may be behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"

namespace pmemsim {

class ThreadSynchronisation {
 public:
  // A lock that was acquired before older stores had left the store queue.
  struct EarlyAcquisition {
    std::uint64_t store;  // number of the first store after it
    std::uint64_t address;
    trace::SyncKind kind;
  };

  // `queue` is the store queue that the releases leave.
  ThreadSynchronisation(EventQueue& events, Synchronisation& objects, Design& design,
                        const Clock& clock, CoreId core, LockOrder order,
                        const StoreQueueHead& queue)
      : events_(events),
        objects_(objects),
        design_(design),
        clock_(clock),
        core_(core),
        order_(order),
        queue_(queue),
        lock_latency_(clock.slots(design.lock_latency())) {}

  // Acquires a lock or another object. Returns false if the operation has to wait; `resume` is
  // called later.
  bool acquire(trace::SyncKind kind, std::uint64_t address, std::uint32_t object,
               std::uint32_t version, Completion resume);
  // Records that the acquisition of this number has taken effect.
  void acquired(std::uint32_t number) { acquired_ = std::max(acquired_, number); }
  // True if the acquisition of this number took effect before its thread was rolled back.
  bool has_ever_acquired(std::uint32_t number) const { return number <= acquired_; }
  Slot lock_latency(trace::SyncKind kind) const { return trace::is_lock(kind) ? lock_latency_ : 0; }

  void notify_acquisition(trace::SyncKind kind, std::uint64_t address, Slot slot);
  // Notifies the layers when all stores before this one have left the store queue.
  void notify_later(const EarlyAcquisition& acquisition) { early_.push_back(acquisition); }
  // True if the layers have yet to be notified of acquisitions.
  bool notifications_wait() const { return !early_.empty(); }
  // Notifies the layers of acquisitions before the store of this number.
  void notify_until(std::uint64_t store, Slot slot) {
    if (!early_.empty()) [[unlikely]]
      notify_waiting(store, slot);
  }
  void forget_notifications() { early_.clear(); }

  // Schedules the entry's release. release_once() has no effect if the release took effect before
  // the thread was rolled back.
  void release(const StoreEntry& entry, Slot slot);
  void release_once(const StoreEntry& entry, Slot slot);

 private:
  void notify_waiting(std::uint64_t store, Slot slot);
  void release_now(std::uint64_t packed, Time now);

  EventQueue& events_;
  Synchronisation& objects_;
  Design& design_;
  const Clock clock_;
  const CoreId core_;
  const LockOrder order_;
  const StoreQueueHead& queue_;
  const Slot lock_latency_;
  // Numbers of the last acquisition and the last release that ever took effect.
  std::uint32_t acquired_ = 0, released_ = 0;
  std::deque<EarlyAcquisition> early_;
};

}  // namespace pmemsim
