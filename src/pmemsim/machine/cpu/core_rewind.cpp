// Pausing, and going back to where the outermost region began:
// designs/interface/thread_control.hpp, for one core.
//
// Events and completions that belong to what is forgotten may still come. They name an entry of the
// reorder buffer or of the store queue that isn't there any more (numbers aren't used again), and
// are ignored.
#include <algorithm>
#include <cassert>

#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {

void Core::pause() {
  paused_ = true;
  paused_since_ = clock_.slot(queue_.now());
}

// What the core had worked out beyond the beginning of the pause comes as much later.
void Core::resume() {
  paused_ = false;
  if (finished_) return;
  if (retire_ < paused_since_) {
    if (head_ != tail_) {
      account_for(entry(head_), retire_, paused_since_);
    } else {
      account_.add(delay_cause_, paused_since_ - retire_);
    }
    retire_ = paused_since_;
  }
  // Nothing, if the thread was taken back meanwhile and its core had worked ahead beyond now.
  const Slot paused = std::max<Slot>(clock_.slot(queue_.now()) - paused_since_, 0);
  account_.add(Cause::kSpeculation, paused);
  retire_ += paused;
  hold_up(std::max(dispatch_, paused_since_) + paused, Cause::kSpeculation);
  retire();
  advance();
}

void Core::rewind() {
  assert(in_region() && !draining_ && !advancing_ && !retiring_ && !executing_);
  const Slot restart = std::max(retire_, clock_.slot(queue_.now()));
  account_.add(Cause::kSpeculation, restart - retire_);
  retire_ = restart;
  if (paused_) paused_since_ = std::max(paused_since_, restart);
  forget_wait_of_head();
  take_back_stores();
  take_back_statistics();
  forget_what_is_in_flight(restart);

  const RegionStart& start = region_starts_.front();
  stream_->go_to(start.place);
  take_back_races(start.place.position);
  has_operation_ = at_end_ = false;
  region_ = regions_retired_ = start.region - 1;
  retired_region_ = region_in_effect_ = 0;
  locks_held_ = start.locks_held;
  dispatched_acquires_ = start.acquired;
  dispatched_releases_ = start.released;
  early_acquisitions_.clear();
  region_starts_.clear();
  draining_regions_.clear();
  design_.rewound(id_);
  program_events_.taken_back(id_);
  advance();
}

// A lock that the head has, although it hasn't left the queue, it has.
void Core::forget_wait_of_head() {
  if (acquiring_ == Acquiring::kLock) {
    synchronisation_.forget(entry(head_).object, completion<&Core::acquired>(*this, head_));
  }
  acquiring_ = Acquiring::kNot;
  if (stores_.empty()) return;
  const StoreEntry& head = stores_.front();
  switch (head.kind) {
    case StoreKind::kAcquire:
    case StoreKind::kAtomicStore:
    case StoreKind::kLocked:
      if (has_acquired(head)) ever_acquired_ = std::max(ever_acquired_, head.synchronisation);
      synchronisation_.forget(head.object, resume_of_head());
      return;
    default:
      return;
  }
}

void Core::take_back_stores() {
  const auto tell = [this](std::uint64_t address, std::uint32_t bytes) {
    program_events_.stored(Line::of(address), trace::kExternalSite);
    design_.restored(id_, address, bytes);
  };
  if (!stores_.empty()) {
    const StoreEntry& head = stores_.front();
    // A non-temporal store becomes visible before it leaves the queue.
    const bool visible = head.kind == StoreKind::kNonTemporal && head.stage > 0;
    if (head.asked > 0 && !visible) tell(head.address, head.size);
  }
  speculative_stores_.take_back(id_, tell);
}

// Regions that have retired and haven't left the store queue will retire again.
void Core::take_back_statistics() {
  for (const RegionStart& start : region_starts_) {
    if (!start.end_retired) continue;
    --statistics_.regions;
    statistics_.region_time -= start.time;
  }
}

void Core::forget_what_is_in_flight(Slot restart) {
  for (Mshr& mshr : mshrs_) mshr.first_load = kNoEntry;
  loads_without_mshr_.clear();
  links_.clear();
  free_link_ = kNoEntry;
  std::fill(producers_.begin(), producers_.end(), Producer{});
  hints_.clear();
  window_ = head_ = tail_;
  instructions_in_window_ = 0;
  loads_dispatched_ = loads_retired_;
  stores_.forget(restart);
  barrier_entry_ = blocking_branch_ = kNoEntry;
  barrier_ = dispatch_ = restart;
  delay_ = 0;
  carried_ = 0;
}

}  // namespace pmemsim
