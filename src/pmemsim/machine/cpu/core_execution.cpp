// Execution and retirement: completion of operations, and its consequences.
#include <algorithm>
#include <span>
#include <utility>

#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {

void Core::execute(std::uint32_t index) {
  Entry& ready = window_[index];
  switch (ready.kind) {
    case Kind::kLoad:
      ready.state = State::kIssued;
      loads_.translate(ready);
      load(index);
      return;
    case Kind::kAtomicLoad:
      ready.state = State::kIssued;
      await_version(index);
      return;
    case Kind::kSerial:
    case Kind::kAcquire:
      ready.state =
          State::kIssued;  // resumed when it is the oldest: start_serial(), start_acquire()
      return;
    case Kind::kStore:
      loads_.translate(ready);
      complete(index, ready.ready + cycle_);
      return;
    case Kind::kPlain:
    case Kind::kBranch:
      complete(index, ready.ready + cycle_);
      return;
    case Kind::kRecurrence:
      complete(index, ready.ready);
      return;
  }
}

// Atomic loads are ordered among all cores, so that each happens at its own simulated time.
void Core::await_version(std::uint32_t index) {
  queue_.schedule(queue_.now_or_later(clock_.time(window_[index].ready)), Phase::kCore,
                  completion<&Core::version_due>(*this, index));
}

void Core::version_due(std::uint64_t index, Time now) {
  const Entry& waiting = window_[static_cast<std::uint32_t>(index)];
  if (synchronisation_.acquire_version(waiting.object, waiting.version,
                                       completion<&Core::version_reached>(*this, index))) {
    version_reached(index, now);
  }
}

void Core::version_reached(std::uint64_t index, Time now) {
  if (!window_.in_flight(static_cast<std::uint32_t>(index))) return;
  Entry& waiting = window_[static_cast<std::uint32_t>(index)];
  const Slot slot = clock_.slot(now);
  if (slot > waiting.ready + 1) {
    wait_is_over(static_cast<std::uint32_t>(index), slot,
                 cause_of(static_cast<trace::LockRole>(waiting.detail)));
  }
  waiting.ready = std::max(waiting.ready, slot);
  loads_.translate(waiting);
  load(static_cast<std::uint32_t>(index));
  advance();
}

// Records the cause of a wait for another operation, which begins when the operands are ready.
void Core::wait_is_over(std::uint32_t index, Slot until, Cause cause) {
  Entry& waiting = window_[index];
  waiting.wait = until - waiting.ready;
  waiting.wait_cause = cause;
  const Synchronisation::Release& release = synchronisation_.latest_release(waiting.object);
  const auto [fence, commit, stores] = waits_behind(release, waiting.ready, until);
  waiting.behind_fence = fence;
  waiting.behind_commit = commit;
  waiting.behind_stores = stores;
  if (profile_ == nullptr) return;
  const auto& [queue, released] = release;
  profile_->waited_for_thread(index, waiting.ready, until,
                              queue == nullptr ? nullptr : queue->profile(), released);
}

void Core::load(std::uint32_t index) {
  const Slot done = loads_.send(index);
  if (done != kUnknownSlot) complete(index, done);
}

// Sends loads again that have waited. Some may have to wait again.
void Core::retry(const std::vector<std::uint32_t>& loads) {
  for (const std::uint32_t index : loads) load(index);
}

void Core::complete(std::uint32_t index, Slot slot) {
  Entry& done = window_[index];
  done.state = State::kComplete;
  done.ready = slot;
  window_.produced(index, slot);
  for (std::uint32_t i = 0; i < done.stores; ++i) stores_.at(done.store + i).data_ready = slot;
  if (barrier_entry_ == index) {
    barrier_entry_ = kNoEntry;
    barrier_ = slot;
  }
  if (blocking_branch_ == index) {
    blocking_branch_ = kNoEntry;
    delay_dispatch(slot + branch_penalty_, Cause::kBranch);
    if (profile_ != nullptr) profile_->delayed_by(index);
  }
  window_.complete(index, slot, ready_);
  if (executing_) return;
  executing_ = true;
  for (std::size_t i = 0; i < ready_.size(); ++i) execute(ready_[i]);
  ready_.clear();
  executing_ = false;
  retire();
}

void Core::retire_in_order() {
  if (retiring_ || executing_ || paused_) return;
  retiring_ = true;
  if (profile_ == nullptr) {
    retire_all<false>();
  } else {
    profile_->settle(window_.head(), retire_, time_.account());
    retire_all<true>();
  }
  retiring_ = false;
  if (races_.any_reached()) races_.release(progress());
}

template <bool kProfiled>
void Core::retire_all() {
  while (!window_.empty()) {
    Entry& oldest = window_[window_.head()];
    if (oldest.state != State::kComplete && !start_oldest(oldest)) break;
    const Slot in_turn = retire_ + oldest.instructions;
    time_.account().add(Cause::kBase, oldest.instructions);
    if constexpr (kProfiled) profile_->retire(window_.head(), oldest.instructions);
    if (oldest.ready > in_turn) time_.wait<kProfiled>(oldest, in_turn, oldest.ready);
    retire_ = std::max(in_turn, oldest.ready);
    window_.retire_oldest(retire_);
    retired(oldest);
  }
}

// Starts an operation that waits until it is the oldest. Returns true once it is complete.
bool Core::start_oldest(Entry& oldest) {
  if (oldest.state != State::kIssued) return false;
  if (oldest.kind == Kind::kSerial) return start_serial(oldest);
  if (oldest.kind == Kind::kAcquire) start_acquire(oldest);
  return false;
}

// Starts a serialising operation. It takes effect when it is the oldest one, after the store queue
// has drained up to it. Returns true once it is complete.
bool Core::start_serial(Entry& oldest) {
  if (oldest.stores == 0) {  // lfence: all older instructions have completed
    complete(window_.head(), std::max(retire_ + oldest.instructions, oldest.ready) + cycle_);
    return true;
  }
  oldest.state = State::kStarted;
  for (std::uint32_t i = 0; i < oldest.stores; ++i) {
    stores_.at(oldest.store + i).eligible = std::max(retire_ + oldest.instructions, oldest.ready);
  }
  store_head_.drain();
  return oldest.state == State::kComplete;
}

// Starts an acquisition. It takes effect when it is the oldest operation, at its own simulated
// time, regardless of stores that are still in the store queue.
void Core::start_acquire(Entry& oldest) {
  oldest.state = State::kStarted;
  acquiring_ = Acquiring::kLock;
  oldest.cause = Cause::kLocked;
  oldest.ready = std::max(retire_ + oldest.instructions, oldest.ready);
  queue_.schedule(queue_.now_or_later(clock_.time(oldest.ready)), Phase::kCore,
                  completion<&Core::acquire_due>(*this, window_.head()));
}

void Core::acquire_due(std::uint64_t index, Time now) {
  if (!window_.in_flight(static_cast<std::uint32_t>(index))) return;
  const Entry& lock = window_[static_cast<std::uint32_t>(index)];
  const bool again = store_head_.acquisitions().has_ever_acquired(lock.synchronisation);
  if (again || store_head_.acquisitions().acquire(static_cast<trace::SyncKind>(lock.detail),
                                                  lock.address, lock.object, lock.version,
                                                  completion<&Core::acquired>(*this, index))) {
    acquired(index, now);
  }
}

void Core::acquired(std::uint64_t index, Time now) {
  if (!window_.in_flight(static_cast<std::uint32_t>(index))) return;
  Entry& lock = window_[static_cast<std::uint32_t>(index)];
  const Slot slot = std::max(lock.ready, clock_.slot(now));
  const auto kind = static_cast<trace::SyncKind>(lock.detail);
  if (slot > lock.ready + 1) {
    wait_is_over(static_cast<std::uint32_t>(index), slot, cause_of(kind));
  }
  lock.ready = slot + store_head_.acquisitions().lock_latency(kind);
  store_head_.acquisitions().acquired(lock.synchronisation);
  store_head_.acquired_early({lock.store, lock.address, kind}, slot);
  acquiring_ = Acquiring::kLine;
  write_lock();
  advance();
}

// Completes the acquisition if the core has the lock's line in a writable state. Otherwise filled()
// calls this function again.
void Core::write_lock() {
  Entry& lock = window_[window_.head()];
  const Line line = Line::of(lock.address);
  const Slot slot = std::max(lock.ready, clock_.slot(queue_.now()));
  const PrivateCaches::Lookup found = caches_.look_up(line, slot);
  if (!found.hit || found.state == LineState::kShared) {
    misses_.request_write(line, slot);
    return;
  }
  caches_.write(line);
  acquiring_ = Acquiring::kNot;
  complete(window_.head(), std::max(slot + cycle_, found.ready) + locked_latency_);
}

void Core::retired(Entry& oldest) {
  switch (oldest.kind) {
    case Kind::kLoad:
    case Kind::kAtomicLoad:
      window_.load_retired(retire_);
      if (reports_.wants_loads()) {
        reports_.load(oldest.address, oldest.size, oldest.forwarded, retire_);
      }
      return;
    case Kind::kSerial:
    case Kind::kBranch:
    case Kind::kPlain:
    case Kind::kStore:
    case Kind::kRecurrence:
    case Kind::kAcquire:
      break;
  }
  if (oldest.hint) reports_.retire_hint(retire_);
  if (oldest.region_begin) reports_.region_begins(retire_);
  if (oldest.region_end) region_retired(oldest);
  if (oldest.kind == Kind::kSerial) {  // its stores have already left the store queue
    // An atomic update reads even if it doesn't write, such as a compare-exchange that failed.
    const std::uint8_t kind = sites_->sites()[oldest.site].kind;
    if (kind == static_cast<std::uint8_t>(trace::SiteKind::kAtomicUpdate)) {
      if (reports_.wants_loads()) {
        reports_.load(oldest.address, oldest.size, oldest.forwarded, retire_);
      }
      if (reports_.wants_stores()) notify_stores(oldest);
    }
    return;
  }
  for (std::uint32_t i = 0; i < oldest.stores; ++i) {
    stores_.at(oldest.store + i).eligible = retire_;
  }
  if (oldest.stores == 0) return;
  if (oldest.kind == Kind::kStore && reports_.wants_stores()) notify_stores(oldest);
  store_head_.request_lines_ahead();
  store_head_.drain();
}

void Core::region_retired(const Entry& end) {
  const auto [region, began] = reports_.region_ends(retire_);
  const Picoseconds time = clock_.time(retire_) - clock_.time(began);
  for (RegionStart& start : region_starts_) {
    if (start.region != region) continue;
    start.end_retired = true;
    start.time = time;
  }
  ++statistics_.regions;
  statistics_.region_time += time;
  statistics_.region_latencies.add(time);
  store_head_.region_retired(end.store + end.stores, began, retire_);
}

// Notifies the design of the retired stores of an instruction.
void Core::notify_stores(const Entry& retired) {
  std::uint32_t segments = 0;
  for (std::uint32_t i = 0; i < retired.stores; ++i) {
    segments = reports_.store(stores_.at(retired.store + i), segments, retire_);
  }
}

}  // namespace pmemsim
