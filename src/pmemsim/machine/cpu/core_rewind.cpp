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

// Resumes the core. Times that it had computed beyond the beginning of the pause are delayed by the
// length of the pause.
void Core::resume() {
  paused_ = false;
  if (finished_) return;
  if (profile_ != nullptr) profile_->settle(window_.head(), retire_, account_);
  if (retire_ < paused_since_) {
    account_for_incomplete(paused_since_);
    retire_ = paused_since_;
  }
  // The difference is negative if the thread was rolled back during the pause and its core had
  // computed beyond the current time.
  const Slot paused = std::max<Slot>(clock_.slot(queue_.now()) - paused_since_, 0);
  account_for_speculation(paused);
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

// Attributes the time until the pause, in which the oldest operation didn't complete.
void Core::account_for_incomplete(Slot until) {
  if (window_.empty()) {
    account_.add(delay_cause_, until - retire_);
    if (profile_ != nullptr) profile_->charge_last(delay_cause_, until - retire_);
  } else if (profile_ == nullptr) {
    account_for<false>(entry(window_.head()), retire_, until);
  } else {
    profile_->stall(window_.head());
    account_for<true>(entry(window_.head()), retire_, until);
  }
}

void Core::account_for_speculation(Slot slots) {
  account_.add(Cause::kSpeculation, slots);
  if (profile_ != nullptr) profile_->charge_last(Cause::kSpeculation, slots);
}

void Core::rewind() {
  assert(in_region() && !store_head_.draining() && !advancing_ && !retiring_ && !executing_);
  const Slot restart = std::max(retire_, clock_.slot(queue_.now()));
  if (profile_ != nullptr) profile_->settle(window_.head(), retire_, account_);
  account_for_speculation(restart - retire_);
  retire_ = restart;
  if (paused_) paused_since_ = std::max(paused_since_, restart);
  if (acquiring_ == Acquiring::kLock) {
    synchronisation_.forget(entry(window_.head()).object,
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
  region_ = regions_retired_ = start.region - 1;
  retired_region_ = 0;
  locks_held_ = start.locks_held;
  dispatched_acquires_ = start.acquired;
  dispatched_releases_ = start.released;
  returns_.set_depth(start.calls);
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
  loads_without_mshr_.clear();
  loads_at_port_.clear();
  hints_.clear();
  window_.forget();
  if (profile_ != nullptr) profile_->discard(window_.head());
  mispredicted_return_ = false;
  barrier_entry_ = blocking_branch_ = kNoEntry;
  barrier_ = dispatch_ = restart;
  delay_ = 0;
  instructions_without_entry_ = 0;
}

}  // namespace pmemsim
