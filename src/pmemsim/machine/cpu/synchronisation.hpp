// Locks, condition variables, barriers, threads and atomic variables, as the recording numbers
// them. Every object has a version, which counts the releases up to which all have come.
//
// Recorded order: an acquire waits until the object has reached the version that it saw when the
// program was recorded, so that every value in the trace stays true.
// Simulated order: mutexes and reader-writer locks go to whoever asks first in simulated time;
// everything else still waits for its version, since the program's course depends on it. But a
// signal of a condition variable or a post of a semaphore stands for those before it: whoever
// should have given them may need a lock that the waiting thread holds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/trace/format.hpp"
#include "pmemsim/trace/sync_operations.hpp"

namespace pmemsim {

enum class LockOrder : std::uint8_t { kRecorded, kSimulated };
inline std::span<const std::string_view> choice_names(LockOrder) {
  static constexpr std::string_view kNames[] = {"recorded", "simulated"};
  return kNames;
}

class Synchronisation {
 public:
  Synchronisation(std::uint32_t objects, LockOrder order) : order_(order), objects_(objects) {}

  // Both are called when the operation takes effect, at the event queue's present time.
  // acquire() returns false if the caller has to wait for `resume`.
  bool acquire(trace::SyncKind kind, std::uint32_t object, std::uint32_t version,
               Completion resume);
  void release(trace::SyncKind kind, std::uint32_t object, std::uint32_t version, Time now);

  // An atomic variable: reads wait for their version, writes for the one before theirs.
  bool acquire_version(std::uint32_t object, std::uint32_t version, Completion resume);
  void release_version(std::uint32_t object, std::uint32_t version, Time now);

  // Whoever waits for the object doesn't any more, or never did: `resume` is not called.
  void forget(std::uint32_t object, const Completion& resume);

  std::uint32_t version(std::uint32_t object) const { return objects_[object].version.number(); }
  std::size_t waiting() const { return waiting_; }

 private:
  struct Waiter {
    std::uint32_t version;
    trace::SyncKind kind;
    Completion resume;
  };
  struct Object {
    trace::ReachedVersion version;
    std::uint32_t readers = 0;  // simulated order only
    bool held = false;          // simulated order only
    std::vector<Waiter> waiters;
  };

  bool arbitrated(trace::SyncKind kind) const;
  bool stands_for_earlier_ones(trace::SyncKind kind) const;
  bool try_lock(Object& object, trace::SyncKind kind);
  void grant_waiting(Object& object, Time now);
  void resume_satisfied(Object& object, Time now);

  LockOrder order_;
  std::size_t waiting_ = 0;
  std::vector<Object> objects_;
};

}  // namespace pmemsim
