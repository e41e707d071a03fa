// The clock of PMEM-Spec's speculation windows (pmem_spec.hpp, rule 6).
//
// The clock stops while a persist path is backed up, unless windows go on (`backed_up_windows`).
// The time at which a window ends isn't known then, so components poll for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/designs/ordering/pmem_spec_parameters.hpp"

namespace pmemsim {

class SpeculationClock {
 public:
  explicit SpeculationClock(const PmemSpecParameters& parameters)
      : goes_on_(parameters.backed_up_windows == BackedUpWindows::kGoOn),
        least_poll_interval_(parameters.path_latency) {}
  void connect(const EventQueue& queue, const Clock& cores) {
    queue_ = &queue;
    least_poll_interval_ = max(least_poll_interval_, cores.duration(cycles(1)));
  }

  Time now() const {
    if (goes_on_) return queue_->now();
    return (backed_up_ > 0 ? since_ : queue_->now()) - backed_up_time_;
  }
  // Returns the total time in which at least one path was backed up, without a time that lasts.
  Picoseconds backed_up_time() const { return backed_up_time_; }
  bool paths_are_backed_up() const { return backed_up_ > 0; }

  // A path has become backed up, or isn't any more.
  void path_backed_up() {
    if (backed_up_++ == 0) since_ = queue_->now();
  }
  void path_freed() {
    if (--backed_up_ == 0) backed_up_time_ += queue_->now() - since_;
  }

  // Returns the interval of polls for a condition that is awaited since `since`. After 64 polls it
  // grows with the time, so that waits for a slow memory don't need millions of polls.
  Picoseconds poll_interval(Time since) const {
    return max(least_poll_interval_, Picoseconds{(queue_->now() - since).count / 64});
  }

 private:
  const bool goes_on_;
  Picoseconds least_poll_interval_;
  const EventQueue* queue_ = nullptr;
  std::uint32_t backed_up_ = 0;  // number of backed-up paths
  Time since_{};
  Picoseconds backed_up_time_{};
};

}  // namespace pmemsim
