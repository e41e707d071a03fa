// Keeps racing accesses in the order in which they were recorded (analysis/races.hpp), so that
// recorded values stay valid.
//
// If an operation must follow another thread's operation, the front end stalls until that operation
// has retired and its stores have left the store queue. No layer is notified of the stall, because
// hardware has no such mechanism.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "pmemsim/analysis/races.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"

namespace pmemsim {

class RaceOrder {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;
  // Progress of a core: the entries in flight of its reorder buffer, and the stores in its queue.
  struct Progress {
    std::uint32_t head, tail;
    std::uint64_t first_store, next_store;
    Time when;  // time at which everything before these entries has completed
  };

  // `over` is called when a wait has ended.
  RaceOrder(EventQueue& queue, Synchronisation& synchronisation, Completion over)
      : queue_(queue), synchronisation_(synchronisation), over_(over) {}

  // Starts to follow a thread. `first_object` is the number of the first synchronisation object
  // that keeps the order of races between the threads of a copy of the program.
  void follow(const trace::Races& races, std::uint32_t thread, std::uint32_t first_object);
  // Returns the number of the next operation that has a wait or follows an awaited point
  // (races.hpp, rule 4); kNever if there is none.
  std::uint64_t next() const { return next_; }
  // Processes the waits and awaited points before the operation of that number. Returns false if
  // the front end has to stall.
  bool pass(std::uint64_t number, const Progress& progress);
  // Releases the awaited points that the thread has passed, once all earlier operations have
  // completed.
  void release(const Progress& progress);
  bool any_reached() const { return !reached_.empty(); }
  // Continues with the operation of that number after a rollback.
  void roll_back(std::uint64_t number);

  bool waiting() const { return waiting_; }
  // Returns the thread of the awaited access.
  std::uint32_t awaited_thread() const { return waits_[next_wait_].thread; }

 private:
  // An awaited point that the front end has passed, and the entries that have to complete before
  // its release.
  struct Reached {
    std::uint32_t version;
    std::uint32_t entry;  // the first entry after the point
    std::uint64_t store;  // the first store after the point
  };
  void find_next();
  void wait_over(std::uint64_t, Time now);
  void release_now(std::uint64_t version, Time now);

  EventQueue& queue_;
  Synchronisation& synchronisation_;
  const Completion over_;
  std::uint64_t next_ = kNever;
  std::span<const trace::Races::Wait> waits_;
  std::span<const std::uint64_t> points_;
  std::size_t next_wait_ = 0, next_point_ = 0;
  std::deque<Reached> reached_;
  std::uint32_t first_object_ = 0, own_object_ = 0;
  bool waiting_ = false;
};

}  // namespace pmemsim
