// Locks, condition variables, barriers, threads and atomic variables, with the numbers of the
// recording. Every object has a version: the number up to which all of its releases have happened.
//
// Recorded order: an acquire waits until the object has reached the version that it saw during
// recording. Every value in the trace therefore stays valid.
//
// Simulated order: mutexes and reader-writer locks are granted in the order of requests in
// simulated time. All other acquires still wait for the recorded version, since the program's
// course depends on it. There is one exception: a signal of a condition variable or a post of a
// semaphore also counts as all earlier ones of its object. Otherwise the run could deadlock,
// because the thread of an earlier signal may need a lock that the waiting thread holds.
//
// A release takes effect when it leaves its core's store queue. It may have retired long before,
// and may have been queued behind a fence. The account of time then blames the fence instead of the
// lock. Therefore each object knows its latest release.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/trace/format.hpp"
#include "pmemsim/trace/sync_operations.hpp"

namespace pmemsim {

class StoreQueueHead;

enum class LockOrder : std::uint8_t { kRecorded, kSimulated };
inline std::span<const std::string_view> choice_names(LockOrder) {
  static constexpr std::string_view kNames[] = {"recorded", "simulated"};
  return kNames;
}

class Synchronisation {
 public:
  Synchronisation(std::uint32_t objects, LockOrder order) : order_(order), objects_(objects) {}

  // Acquire or release an object when the operation takes effect, at the event queue's current
  // time. acquire() returns false if the caller has to wait for `resume`.
  bool acquire(trace::SyncKind kind, std::uint32_t object, std::uint32_t version,
               Completion resume);
  void release(trace::SyncKind kind, std::uint32_t object, std::uint32_t version, Time now);

  // Acquire or release an atomic variable: reads wait for their version, writes for the version
  // before theirs.
  bool acquire_version(std::uint32_t object, std::uint32_t version, Completion resume);
  void release_version(std::uint32_t object, std::uint32_t version, Time now);

  // The store queue that a release leaves, and the time at which it retired.
  struct Release {
    const StoreQueueHead* queue = nullptr;
    Slot retired = 0;
  };
  // Records a release of the object that takes effect later.
  void will_release(trace::SyncKind kind, std::uint32_t object, const Release& release) {
    objects_[released_object(kind, object)].release = release;
  }
  const Release& latest_release(std::uint32_t object) const { return objects_[object].release; }

  // Cancels the wait with this `resume` for the object, if there is one: `resume` is not called.
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
    Release release{};
  };

  std::uint32_t released_object(trace::SyncKind kind, std::uint32_t object) const;
  bool arbitrated(trace::SyncKind kind) const;
  bool includes_earlier_releases(trace::SyncKind kind) const;
  bool try_lock(Object& object, trace::SyncKind kind);
  void grant_waiting(Object& object, Time now);
  void resume_satisfied(Object& object, Time now);

  LockOrder order_;
  std::size_t waiting_ = 0;
  std::vector<Object> objects_;
};

}  // namespace pmemsim
