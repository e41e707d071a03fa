// Pausing a core, and rolling its thread back to the beginning of the outermost region, as
// specified in designs/interface/thread_control.hpp.
//
// Events and completions of discarded operations may still arrive. They name an entry of the
// reorder buffer or of the store queue that no longer exists (numbers are not reused), and are
// ignored.
#include <algorithm>
#include <cassert>

#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {

void Core::pause() {
  paused_ = true;
  paused_since_ = clock_.slot(queue_.now());
}

// Resumes the core. The length of the pause is added to times after its beginning that the core has
// already computed.
void Core::resume() {
  paused_ = false;
  if (finished_) return;
  if (profile_ != nullptr) profile_->settle(window_.head(), retire_, time_.account());
  if (retire_ < paused_since_) {
    time_.incomplete(window_, delay_cause_, retire_, paused_since_);
    retire_ = paused_since_;
  }
  // The difference is negative if the thread was rolled back during the pause and its core had
  // computed beyond the current time.
  const Slot paused = std::max<Slot>(clock_.slot(queue_.now()) - paused_since_, 0);
  time_.speculation(paused);
  if (StageLog* const stages = program_events_.stages()) {
    stages->add({.stage = Stage::kPause,
                 .unit = id_,
                 .at = {clock_.time(paused_since_), clock_.time(paused_since_ + paused)}});
  }
  retire_ += paused;
  delay_dispatch(std::max(dispatch_, paused_since_) + paused, Cause::kSpeculation);
  retire();
  advance();
}

void Core::rewind() {
  assert(in_region() && !store_head_.draining() && !advancing_ && !retiring_ && !executing_);
  const Slot restart = std::max(retire_, clock_.slot(queue_.now()));
  if (profile_ != nullptr) profile_->settle(window_.head(), retire_, time_.account());
  time_.speculation(restart - retire_);
  retire_ = restart;
  if (paused_) paused_since_ = std::max(paused_since_, restart);
  if (acquiring_ == Acquiring::kLock) {
    synchronisation_.forget(window_[window_.head()].object,
                            completion<&Core::acquired>(*this, window_.head()));
  }
  acquiring_ = Acquiring::kNot;
  store_head_.roll_back(restart);
  undo_statistics();
  discard_in_flight(restart);

  const RegionStart& start = region_starts_.front();
  stream_->go_to(start.position);
  races_.roll_back(start.position.position);
  has_operation_ = at_end_ = false;
  region_ = start.region - 1;
  reports_.roll_back(start.region);
  locks_.roll_back(start.locks_held);
  dispatched_acquires_ = start.acquired;
  dispatched_releases_ = start.released;
  branches_.roll_back(start.calls);
  region_starts_.clear();
  design_.rewound(id_);
  program_events_.rolled_back(id_);
  if (StageLog* const stages = program_events_.stages()) {
    stages->add({.stage = Stage::kRollBack, .unit = id_, .at = {clock_.time(restart)}});
  }
  advance();
}

// Subtracts regions that have retired but not left the store queue, because they will retire again.
void Core::undo_statistics() {
  for (const RegionStart& start : region_starts_) {
    if (!start.end_retired) continue;
    --statistics_.regions;
    statistics_.region_time -= start.time;
    statistics_.region_latencies.remove(start.time);
  }
}

void Core::discard_in_flight(Slot restart) {
  misses_.forget_loads();
  loads_.discard();
  window_.forget();
  if (profile_ != nullptr) profile_->discard(window_.head());
  branches_.discard_return();
  barrier_entry_ = blocking_branch_ = kNoEntry;
  barrier_ = dispatch_ = restart;
  delay_ = 0;
  instructions_without_entry_ = 0;
}

}  // namespace pmemsim
