// Accesses that race are executed in the order in which they were recorded (analysis/races.hpp), so
// that what the recording says of values stays true.
//
// Before an operation that another thread's comes before, the front end waits until that one has
// retired and its stores have left the store queue. No layer is notified: hardware doesn't know.
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
  // How far a core has got: the entries of its reorder buffer in flight, and the stores in its
  // queue.
  struct Progress {
    std::uint32_t head, tail;
    std::uint64_t first_store, next_store;
    Time when;  // everything before these is over
  };

  // `over`: called when a wait has ended.
  RaceOrder(EventQueue& queue, Synchronisation& synchronisation, Completion over)
      : queue_(queue), synchronisation_(synchronisation), over_(over) {}

  // `first_object`: of those by which the threads of a copy of the program keep the order.
  void follow(const trace::Races& races, std::uint32_t thread, std::uint32_t first_object);
  // The number of the operation before which there is something to do; kNever: of none.
  std::uint64_t next() const { return next_; }
  // Before the operation of that number. False: the front end has to wait.
  bool pass(std::uint64_t number, const Progress& progress);
  // Releases the places that the thread has passed, with all that was before.
  void release(const Progress& progress);
  bool any_reached() const { return !reached_.empty(); }
  // The thread goes on with the operation of that number.
  void take_back(std::uint64_t number);

  bool waiting() const { return waiting_; }
  // The thread of the access that is waited for.
  std::uint32_t awaited_thread() const { return waits_[next_wait_].thread; }

 private:
  // A place that others wait for, and what has to be over there.
  struct Reached {
    std::uint32_t version;
    std::uint32_t entry;  // the first behind it
    std::uint64_t store;  // the same
  };
  void find_next();
  void wait_over(std::uint64_t, Time now);
  void release_now(std::uint64_t version, Time now);

  EventQueue& queue_;
  Synchronisation& synchronisation_;
  const Completion over_;
  std::uint64_t next_ = kNever;
  std::span<const trace::Races::Wait> waits_;
  std::span<const std::uint64_t> places_;
  std::size_t next_wait_ = 0, next_place_ = 0;
  std::deque<Reached> reached_;
  std::uint32_t first_object_ = 0, own_object_ = 0;
  bool waiting_ = false;
};

}  // namespace pmemsim
