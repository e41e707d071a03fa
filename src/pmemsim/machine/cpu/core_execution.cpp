// Execution and retirement: completion of operations, and its consequences.
#include <algorithm>
#include <span>
#include <utility>

#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {

void Core::execute(std::uint32_t index) {
  Entry& ready = entry(index);
  switch (ready.kind) {
    case Kind::kLoad:
      ready.state = State::kIssued;
      translate(ready);
      load(index);
      return;
    case Kind::kAtomicLoad:
      // Atomic loads are ordered among all cores, so that each happens at its own simulated time.
      ready.state = State::kIssued;
      queue_.schedule(queue_.now_or_later(clock_.time(ready.ready)), Phase::kCore,
                      completion<&Core::version_due>(*this, index));
      return;
    case Kind::kSerial:
    case Kind::kAcquire:
      ready.state =
          State::kIssued;  // resumed when it is the oldest: start_serial(), start_acquire()
      return;
    case Kind::kStore:
      translate(ready);
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

void Core::version_due(std::uint64_t index, Time now) {
  const Entry& waiting = entry(static_cast<std::uint32_t>(index));
  if (synchronisation_.acquire_version(waiting.object, waiting.version,
                                       completion<&Core::version_reached>(*this, index))) {
    version_reached(index, now);
  }
}

void Core::version_reached(std::uint64_t index, Time now) {
  if (!window_.in_flight(static_cast<std::uint32_t>(index))) return;
  Entry& waiting = entry(static_cast<std::uint32_t>(index));
  const Slot slot = clock_.slot(now);
  if (slot > waiting.ready + 1) {
    wait_is_over(static_cast<std::uint32_t>(index), slot,
                 cause_of(static_cast<trace::LockRole>(waiting.detail)));
  }
  waiting.ready = std::max(waiting.ready, slot);
  translate(waiting);
  load(static_cast<std::uint32_t>(index));
  advance();
}

// Records the cause of a wait for another operation, which begins when the operands are ready.
void Core::wait_is_over(std::uint32_t index, Slot until, Cause cause) {
  Entry& waiting = entry(index);
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

// Returns how long an access to these bytes waits for address translation.
Slot Core::translation(std::uint64_t address, std::uint64_t bytes) {
  const Tlb::Translation found = tlb_.translate(address, bytes);
  ++statistics_.translations;
  statistics_.tlb_misses += !found.in_first;
  statistics_.page_walks += found.walked;
  return found.wait;
}

void Core::translate_now(Entry& access) {
  Slot wait = 0;
  if (access.kind != Kind::kStore) wait = translation(access.address, access.size);
  for (std::uint32_t i = 0; i < access.stores; ++i) {
    const StoreEntry& store = stores_.at(access.store + i);
    if (store.writes) wait = std::max(wait, translation(store.address, store.size));
  }
  if (wait == 0) return;
  access.ready += wait;
  if (access.cause == Cause::kExecution) access.cause = Cause::kPrivateCache;
}

void Core::load(std::uint32_t index) {
  Entry& issued = entry(index);
  if (issued.forwarded) {
    complete(index, issued.ready + forward_latency_);
    return;
  }
  if (port_.present()) [[unlikely]]
    return load_through_port(index);
  Slot done = issued.ready;
  bool missed = false;
  const Line last = Line::of(issued.address + issued.size - 1);
  for (Line line = Line::of(issued.address); line <= last; ++line.number) {
    const PrivateCaches::Lookup found = caches_.look_up(line, issued.ready);
    misses_.prefetch_after(line, found);
    if (found.hit) {
      if (!found.in_l1 && issued.cause == Cause::kExecution) issued.cause = Cause::kPrivateCache;
      done = std::max(done, found.done);
      continue;
    }
    // Requests both lines if both miss. The load waits for the first line, and is then looked up
    // again.
    MissRegisters::Register* mshr = misses_.request_read(line, found.done);
    if (missed) continue;
    missed = true;
    wait_for_line(index, mshr);
  }
  if (!missed) complete(index, done);
}

// Makes the load wait for the line of a miss register, or for a free register.
void Core::wait_for_line(std::uint32_t index, MissRegisters::Register* mshr) {
  if (mshr == nullptr) {
    loads_without_mshr_.push_back(index);
    return;
  }
  entry(index).next_in_line = mshr->first_load;
  mshr->first_load = index;
}

// Executes a load through a port that takes one access at a time. A load that crosses a line makes
// two accesses, one after the other.
void Core::load_through_port(std::uint32_t index) {
  Entry& issued = entry(index);
  Slot done = issued.ready;
  const Line last = Line::of(issued.address + issued.size - 1);
  for (Line line = Line::of(issued.address); line <= last; ++line.number) {
    const auto begin = port_.find(done, caches_.l1_latency(), load_retry_latency_);
    if (!begin) return wait_for_port(index);
    const PrivateCaches::Lookup found = caches_.look_up(line, *begin);
    if (!found.hit && port_.held()) return wait_for_port(index);
    misses_.prefetch_after(line, found);
    const bool waited = *begin > done || !found.in_l1;
    if (waited && issued.cause == Cause::kExecution) issued.cause = Cause::kPrivateCache;
    if (!found.hit) {
      MissRegisters::Register* const mshr = misses_.request_read(line, found.done);
      if (mshr != nullptr) port_.hold(*begin, line);
      return wait_for_line(index, mshr);
    }
    port_.take(*begin, found.done);
    done = found.done;
  }
  complete(index, done);
}

void Core::wait_for_port(std::uint32_t index) {
  loads_at_port_.push_back({index, port_.held_for_flush()});
}

// Sends loads that have waited for the port, oldest first. Some may have to wait again.
void Core::retry_waiting_at_port() {
  std::vector<LoadAtPort> waiting = std::move(loads_at_port_);
  loads_at_port_.clear();
  std::ranges::sort(waiting, {}, [&](const LoadAtPort& one) { return one.index - window_.head(); });
  const Slot now = clock_.slot(queue_.now());
  for (const auto& [index, behind_flush] : waiting) {
    Entry& waited = entry(index);
    if (behind_flush && waited.wait == 0 && now > waited.ready) {
      waited.wait = now - waited.ready;
      waited.wait_cause = Cause::kFence;
      waited.behind_fence = waited.behind_commit = waited.behind_stores = 0;
    }
    load(index);
  }
}

void Core::retry_waiting_loads() {
  if (loads_without_mshr_.empty()) return;
  const std::vector<std::uint32_t> waiting = std::move(loads_without_mshr_);
  loads_without_mshr_.clear();
  for (const std::uint32_t index : waiting) load(index);
}

void Core::complete(std::uint32_t index, Slot slot) {
  Entry& done = entry(index);
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
    profile_->settle(window_.head(), retire_, account_);
    retire_all<true>();
  }
  retiring_ = false;
  if (races_.any_reached()) races_.release(progress());
}

template <bool kProfiled>
void Core::retire_all() {
  while (!window_.empty()) {
    Entry& oldest = entry(window_.head());
    if (oldest.state != State::kComplete && !start_oldest(oldest)) break;
    const Slot in_turn = retire_ + oldest.instructions;
    account_.add(Cause::kBase, oldest.instructions);
    if constexpr (kProfiled) profile_->retire(window_.head(), oldest.instructions);
    if (oldest.ready > in_turn) account_for<kProfiled>(oldest, in_turn, oldest.ready);
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
  const Entry& lock = entry(static_cast<std::uint32_t>(index));
  const bool again = store_head_.acquisitions().has_ever_acquired(lock.synchronisation);
  if (again || store_head_.acquisitions().acquire(static_cast<trace::SyncKind>(lock.detail),
                                                  lock.address, lock.object, lock.version,
                                                  completion<&Core::acquired>(*this, index))) {
    acquired(index, now);
  }
}

void Core::acquired(std::uint64_t index, Time now) {
  if (!window_.in_flight(static_cast<std::uint32_t>(index))) return;
  Entry& lock = entry(static_cast<std::uint32_t>(index));
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
  Entry& lock = entry(window_.head());
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

// Attributes the time from `from`, when this operation could have retired, until it did, to the
// causes of the wait. A profile charges each part to a line of the program.
template <bool kProfiled>
void Core::account_for(const Entry& oldest, Slot from, Slot until) {
  Slot left = until - from;
  // `charge` is the profile's function for this part.
  const auto add = [&](Cause cause, Slot slots, auto charge, auto... interval) {
    const Slot part = std::min(left, slots);
    account_.add(cause, part);
    if constexpr (kProfiled) ((*profile_).*charge)(cause, part, interval...);
    left -= part;
  };
  if (oldest.kind == Kind::kSerial) {
    const RecentWaits::ByCause waits = store_head_.waits().by_cause(from, until);
    for (const Cause cause : {Cause::kFence, Cause::kLock, Cause::kCondition, Cause::kBarrier,
                              Cause::kJoin, Cause::kOrder, Cause::kCommit}) {
      add(cause, waits[static_cast<std::size_t>(cause)], &CoreProfile::charge_queue, from, until);
    }
    add(Cause::kLocked, locked_latency_, &CoreProfile::charge_own);
    add(Cause::kStoreQueue, left, &CoreProfile::charge_queue, from, until);
    return;
  }
  add(oldest.delay_cause, oldest.delay, &CoreProfile::charge_delay);
  if (oldest.wait > 0) {
    add(Cause::kFence, oldest.behind_fence, &CoreProfile::charge_wait);
    add(Cause::kCommit, oldest.behind_commit, &CoreProfile::charge_wait);
    add(Cause::kStoreQueue, oldest.behind_stores, &CoreProfile::charge_wait);
    add(oldest.wait_cause,
        oldest.wait - oldest.behind_fence - oldest.behind_commit - oldest.behind_stores,
        &CoreProfile::charge_wait);
  }
  add(oldest.cause, left, &CoreProfile::charge_own);
}
template void Core::account_for<false>(const Entry& oldest, Slot from, Slot until);
template void Core::account_for<true>(const Entry& oldest, Slot from, Slot until);

void Core::retired(Entry& oldest) {
  switch (oldest.kind) {
    case Kind::kLoad:
    case Kind::kAtomicLoad:
      window_.load_retired(retire_);
      if (reports_loads_) notify_load(oldest.address, oldest.size, oldest.forwarded);
      return;
    case Kind::kSerial:
    case Kind::kBranch:
    case Kind::kPlain:
    case Kind::kStore:
    case Kind::kRecurrence:
    case Kind::kAcquire:
      break;
  }
  if (oldest.hint) notify_hint();
  if (oldest.region_begin) {
    region_began_ = retire_;
    retired_region_ = ++regions_retired_;
    log_region(Stage::kRegionBegin);
  }
  if (oldest.region_end) region_retired(oldest);
  if (oldest.kind == Kind::kSerial) {  // its stores have already left the store queue
    // An atomic update reads even if it doesn't write, such as a compare-exchange that failed.
    const std::uint8_t kind = sites_->sites()[oldest.site].kind;
    if (kind == static_cast<std::uint8_t>(trace::SiteKind::kAtomicUpdate)) {
      if (reports_loads_) notify_load(oldest.address, oldest.size, oldest.forwarded);
      notify_stores(oldest);
    }
    return;
  }
  for (std::uint32_t i = 0; i < oldest.stores; ++i) {
    stores_.at(oldest.store + i).eligible = retire_;
  }
  if (oldest.stores == 0) return;
  if (oldest.kind == Kind::kStore) notify_stores(oldest);
  store_head_.request_lines_ahead();
  store_head_.drain();
}

void Core::log_region(Stage stage) const {
  StageLog* const stages = program_events_.stages();
  if (stages == nullptr) return;
  stages->add({.stage = stage, .unit = id_, .id = retired_region_, .at = {clock_.time(retire_)}});
}

void Core::region_retired(const Entry& end) {
  log_region(Stage::kRegionEnd);
  const Picoseconds time = clock_.time(retire_) - clock_.time(region_began_);
  for (RegionStart& start : region_starts_) {
    if (start.region != retired_region_) continue;
    start.end_retired = true;
    start.time = time;
  }
  program_events_.region_ended(id_, retired_region_, clock_.time(retire_));
  retired_region_ = 0;
  ++statistics_.regions;
  statistics_.region_time += time;
  statistics_.region_latencies.add(time);
  store_head_.region_retired(end.store + end.stores, region_began_, retire_);
}

// Notifies the design of the retired stores of an instruction.
void Core::notify_stores(const Entry& retired) {
  if (!reports_retired_stores_) return;
  std::uint32_t segments = 0;
  for (std::uint32_t i = 0; i < retired.stores; ++i) {
    segments = notify_store(stores_.at(retired.store + i), segments, retire_);
  }
}

// Notifies the design of a store. The value is still in the ring buffer, even if the store has left
// the queue. The design receives the value in segments of at most
// RetiredStore::kMostBytes. `segments` is the number of segments of the same instruction in earlier
// entries. Returns that number plus the segments of this entry.
std::uint32_t Core::notify_store(const StoreEntry& store, std::uint32_t segments, Slot slot) {
  if (!store.writes) return segments;
  for (std::uint32_t done = 0; done < store.size; done += RetiredStore::kMostBytes) {
    const std::uint32_t bytes = std::min(RetiredStore::kMostBytes, store.size - done);
    design_.stored({id_, piece_site(store.site, segments++), store.address + done,
                    std::span(store.value).subspan(done, bytes)},
                   clock_.time(slot));
  }
  return segments;
}

void Core::notify_hint() {
  PendingHint pending = std::move(hints_.front());
  hints_.pop_front();
  pending.hint.data = pending.data;
  design_.hint(id_, pending.hint, clock_.time(retire_));
}

void Core::notify_load(std::uint64_t address, std::uint32_t size, bool forwarded) {
  if (!persistent(address)) return;
  const Time when = clock_.time(retire_);
  const auto to_the_end = static_cast<std::uint32_t>(kLineBytes - address % kLineBytes);
  const std::uint32_t first = std::min(size, to_the_end);
  design_.load({id_, address, first, retired_region_, forwarded}, when);
  if (first == size) return;
  design_.load({id_, address + first, size - first, retired_region_, forwarded}, when);
}

}  // namespace pmemsim
