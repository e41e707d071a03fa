// The front end of a core: reading operations, free entries in the window, and dispatch. Most
// operations have to wait for nothing and are part of straight-line code (core_straight_line.cpp).
#include <algorithm>
#include <span>

#include "pmemsim/machine/cpu/core.hpp"
#include "pmemsim/trace/record_layout.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim {
namespace {

// A limit of dispatch that each operation exceeds. In a profiled run, each operation therefore
// takes the branch that other operations take seldom, and an unprofiled run has no other branch.
constexpr Slot kEachOperation = -1;

void count_instructions(const trace::Operation& operation, CoreStatistics& statistics) {
  using trace::SiteKind;
  constexpr trace::KindSet kOthers{SiteKind::kMark, SiteKind::kSync, SiteKind::kExternal};
  if (!kOthers.contains(static_cast<std::uint8_t>(operation.kind))) {
    statistics.instructions += operation.instructions;
  } else if (operation.kind == SiteKind::kExternal) {
    statistics.instructions += operation.instructions;
    statistics.external_instructions += operation.instructions;
    if (operation.flag) statistics.unknown_instructions += operation.instructions;
  }
}

}  // namespace

using trace::FenceKind;
using trace::LockRole;
using trace::MarkKind;
using trace::Operation;
using trace::SiteKind;
using trace::SyncKind;

[[gnu::always_inline]] inline bool Core::next_operation() {
  if (at_end_) return false;
  at_end_ = !stream_->next(operation_);
  if (const std::uint32_t left_over = stream_->take_left_out_instructions(); left_over != 0)
      [[unlikely]] {
    statistics_.instructions += left_over;
    instructions_without_entry_ += left_over;
  }
  if (at_end_) {
    if (races_.next() != RaceOrder::kNever) races_.pass(stream_->position(), progress());
    return false;
  }
  ++statistics_.operations;
  if (stream_->position() > half_) [[unlikely]] {
    half_ = RaceOrder::kNever;
    first_half_ = dispatch_;
  }
  count_instructions(operation_, statistics_);
  branches_.follow(operation_);
  return true;
}

// Prepares the profile for the next operation.
void Core::profile_operation() {
  profile_->settle(window_.head(), retire_, time_.account());
  profile_->before_dispatch(operation_, front_end());
}

CoreProfile::FrontEnd Core::front_end() const {
  const trace::Purpose purpose = stream_->purpose();
  constexpr trace::KindSet kStores{SiteKind::kStore, SiteKind::kCopyStore, SiteKind::kAtomicStore,
                                   SiteKind::kAtomicUpdate};
  return {.position = stream_->position(),
          .tail = window_.tail(),
          .stores = stores_.tail(),
          .instructions_without_entry = instructions_without_entry_,
          .delayed = delay_ > 0,
          .log = purpose == trace::Purpose::kLog || purpose == trace::Purpose::kCommit,
          .stores_to_pm = kStores.contains(static_cast<std::uint8_t>(operation_.kind)) &&
                          pm_space_.contains(operation_.address)};
}

void Core::advance() {
  if (advancing_ || finished_ || paused_) return;
  advancing_ = true;
  const Slot horizon = clock_.slot(queue_.now() + run_ahead_);
  const auto limit_of = [&] {
    return profile_ == nullptr ? std::min(horizon, slice_ends_ - 1) : kEachOperation;
  };
  Slot limit = limit_of();
  bool has_operation = has_operation_;
  while (blocking_branch_ == kNoEntry) {
    bool waits = false;
    if (!has_operation) {
      // A profiled run has to stop at each operation.
      waits = profile_ == nullptr && pass_straight_line(limit);
      if (!next_operation()) break;
    }
    has_operation = true;
    if (stream_->position() > races_.next() && !races_.pass(stream_->position() - 1, progress()))
      break;
    if (dispatch_ > limit && !waits) [[unlikely]] {
      if (profile_ != nullptr) profile_operation();
      if (dispatch_ > horizon) {
        schedule_wake();
        break;
      }
      if (dispatch_ >= slice_ends_ && !end_time_slice()) break;
      limit = limit_of();
    }
    if (!dispatch(operation_, waits)) break;
    has_operation = false;
  }
  has_operation_ = has_operation;
  advancing_ = false;
  if (at_end_ && !has_operation_ && window_.empty() && stores_.empty()) finish();
}

void Core::finish() {
  finished_ = true;
  const Slot drained = store_head_.drained();
  store_head_.empty_buffers(drained);
  design_.thread_ended(id_);
  if (profile_ != nullptr) profile_end(drained);
  // Instructions after the last operation that has an entry.
  time_.account().add(Cause::kBase, instructions_without_entry_);
  retire_ += instructions_without_entry_;
  if (drained <= retire_) return;
  const Slot fence = store_head_.waits().of(Cause::kFence, retire_, drained);
  time_.account().add(Cause::kFence, fence);
  time_.account().add(Cause::kStoreQueue, drained - retire_ - fence);
  retire_ = drained;
}

// Charges the time that finish() accounts for.
void Core::profile_end(Slot drained) {
  profile_->settle(window_.head(), retire_, time_.account());
  profile_->charge_rest(instructions_without_entry_, front_end());
  const Slot retired = retire_ + instructions_without_entry_;
  if (drained <= retired) return;
  const Slot fence = store_head_.waits().of(Cause::kFence, retired, drained);
  profile_->charge_queue(Cause::kFence, fence, retired, drained);
  profile_->charge_queue(Cause::kStoreQueue, drained - retired - fence, retired, drained);
}

// Takes the thread off the core at the end of its time slice. The thread continues only after its
// stores have left the store queue. The design must also have no state of the thread left in this
// core that another core couldn't find.
bool Core::end_time_slice() {
  Operation interrupt{};
  interrupt.kind = SiteKind::kMark;
  interrupt.site = operation_.site;
  if (!dispatch_through_stores(interrupt, StoreKind::kContextSwitch, true)) return false;
  slice_ends_ = dispatch_ + time_slice_;
  ++statistics_.context_switches;
  return true;
}

void Core::schedule_wake() {
  if (wake_scheduled_) return;
  wake_scheduled_ = true;
  queue_.schedule(clock_.time(dispatch_), Phase::kCore, completion<&Core::wake>(*this));
}

void Core::wake(std::uint64_t, Time) {
  wake_scheduled_ = false;
  advance();
}

// Continues the front end at an access that has waited for a race.
void Core::race_over(std::uint64_t, Time now) {
  delay_dispatch(clock_.slot(now), Cause::kOrder);
  advance();
}

// Dispatches the operation, which has to wait for something if `waits`. Returns false if an entry
// is missing: an event later moves the window and calls advance() again.
bool Core::dispatch(const Operation& operation, bool waits) {
  switch (operation.kind) {
    case SiteKind::kLoad:
    case SiteKind::kCopyLoad:
    case SiteKind::kAtomicLoad:
      return dispatch_load(operation, waits);
    case SiteKind::kStore:
    case SiteKind::kNonTemporal:
    case SiteKind::kCopyStore:
    case SiteKind::kAtomicStore:
      return dispatch_store(operation, waits);
    case SiteKind::kAtomicUpdate:
      return dispatch_through_stores(operation, StoreKind::kLocked, true);
    case SiteKind::kBranch:
    case SiteKind::kIndirectBranch:
      return dispatch_branch(operation);
    case SiteKind::kRecurrence:
      return dispatch_recurrence(operation);
    case SiteKind::kExecute:
      if (branches_.mispredicts_return()) return dispatch_branch(operation);
      [[fallthrough]];
    case SiteKind::kExternal:
      if (!needs_no_entry(operation.instructions)) {
        return dispatch_plain(operation, Kind::kPlain);
      }
      instructions_without_entry_ += operation.instructions;
      return true;
    case SiteKind::kFlush:
      return dispatch_through_stores(operation, StoreKind::kFlush, false);
    case SiteKind::kFence:
      switch (static_cast<FenceKind>(operation.detail)) {
        case FenceKind::kSfence:
          return dispatch_through_stores(
              operation, full_fences_ ? StoreKind::kFullFence : StoreKind::kFence, full_fences_);
        case FenceKind::kMfence:
          return dispatch_through_stores(operation, StoreKind::kFullFence, true);
        case FenceKind::kLfence:
          return dispatch_plain(operation, Kind::kSerial);
      }
      return true;
    case SiteKind::kSync:
      return dispatch_synchronisation(operation);
    case SiteKind::kMark:
      return dispatch_mark(operation);
  }
  return true;
}

bool Core::dispatch_load(const Operation& operation, bool waits) {
  if (!has_entry(operation) || !window_.has_load_entry(dispatch_)) return false;
  if (!waits && load_at_once(operation)) return true;
  const Kind kind = operation.kind == SiteKind::kAtomicLoad ? Kind::kAtomicLoad : Kind::kLoad;
  const std::uint32_t index = new_entry(operation, kind);
  Entry& load = window_[index];
  ++statistics_.loads;
  window_.load_dispatched();
  window_.add_dependences(index, decoded_->dependences_of(operation.site));
  if (barrier_entry_ != kNoEntry) {
    window_.wait_for(index, barrier_entry_, 0);
  } else {
    load.ready = std::max(load.ready, barrier_);
  }
  // A load behind a barrier finds the store queue empty, unless the barrier only acquires a lock.
  const bool empty = barrier_entry_ != kNoEntry && window_[barrier_entry_].kind != Kind::kAcquire;
  load.forwarded = kind == Kind::kLoad && !empty && forward(index);
  if (kind == Kind::kAtomicLoad) set_version(index, operation);
  window_.produces(operation.site, index);
  start(index);
  return true;
}

// Sets the version for which an atomic load waits; version 0 never waits.
void Core::set_version(std::uint32_t index, const Operation& operation) {
  Entry& load = window_[index];
  const bool in_order = locks_.in_recorded_order(locks_.role(operation));
  load.object = operation.object;
  load.version = in_order ? operation.version : 0;
  load.detail = operation.detail;
  // The awaited value ends a loop whose branch was predicted to repeat, so that the front end
  // stalls.
  if (synchronisation_.version(load.object) < load.version) blocking_branch_ = index;
}

// If the bytes are still in the store queue, the load waits for the youngest store that wrote any
// of them, and not for the cache. Memory dependences are known exactly, like with a good predictor.
bool Core::forward(std::uint32_t index) {
  Entry& load = window_[index];
  const StoreEntry* const youngest = stores_.youngest(load.address, load.size, load.ready);
  if (youngest == nullptr) return false;
  ++statistics_.forwarded_loads;
  if (youngest->data_ready == kUnknownSlot) {
    window_.wait_for(index, youngest->rob, 0);
  } else {
    load.ready = std::max(load.ready, youngest->data_ready);
  }
  return true;
}

bool Core::dispatch_store(const Operation& operation, bool waits) {
  if (!has_store_entries(operation, stores_of(operation))) return false;
  if (!waits && store_at_once(operation)) return true;
  const std::uint32_t index = new_entry(operation, Kind::kStore);
  ++statistics_.stores;
  const StoreKind kind = store_kind(operation);
  new_stores(index, kind, operation);
  if (kind == StoreKind::kAtomicStore) locks_.count(locks_.role(operation));
  window_.add_dependences(index, decoded_->dependences_of(operation.site));
  start(index);
  return true;
}

StoreKind Core::store_kind(const Operation& operation) const {
  if (operation.kind == SiteKind::kAtomicStore) return StoreKind::kAtomicStore;
  const bool past_the_caches =
      operation.kind == SiteKind::kNonTemporal &&
      (design_.lowering().keeps_non_temporal || !pm_space_.contains(operation.address));
  return past_the_caches ? StoreKind::kNonTemporal : StoreKind::kStore;
}

bool Core::dispatch_branch(const Operation& operation) {
  // Checked first, so that each branch queries the predictor only once.
  if (!has_entry(operation)) return false;
  if (branches_.predicted(operation)) {
    instructions_without_entry_ += operation.instructions;
  } else {
    block_at(operation);
  }
  return true;
}

// Dispatches a mispredicted branch, which stops the front end until it has executed.
void Core::block_at(const Operation& branch) {
  const std::uint32_t index = new_entry(branch, Kind::kBranch);
  window_.add_dependences(index, decoded_->dependences_of(branch.site));
  blocking_branch_ = index;
  start(index);
}

// Dispatches a recurrence, which is not an instruction. It is complete when its value is ready, and
// retires no earlier, like the instruction that computes the value.
bool Core::dispatch_recurrence(const Operation& operation) {
  if (!has_entry(operation)) return false;
  const std::uint32_t index = new_entry(operation, Kind::kRecurrence);
  window_.add_dependences(index, decoded_->of_recurrence(operation.site, operation.flag));
  window_.produces(operation.site, index);
  start(index);
  return true;
}

bool Core::dispatch_plain(const Operation& operation, Kind kind) {
  if (!has_entry(operation)) return false;
  const std::uint32_t index = new_entry(operation, kind);
  if (kind == Kind::kSerial) barrier_entry_ = index;
  start(index);
  return true;
}

void Core::wait_for_store_entries(std::uint32_t stores) {
  const Slot free = stores_.free_since(stores);
  if (profile_ != nullptr) {
    profile_->delayed_by_store(stores_.freed_by(stores), dispatch_, free, window_.tail());
  }
  const Slot fence = store_head_.waits().of(Cause::kFence, dispatch_, free);
  delay_dispatch(free, 2 * fence >= free - dispatch_ ? Cause::kFence : Cause::kStoreQueue);
}

void Core::delay_dispatch(Slot until, Cause cause) {
  if (until <= dispatch_) return;
  delay_ += until - dispatch_;
  delay_cause_ = cause;
  dispatch_ = until;
}

std::uint32_t Core::new_entry(const Part& operation, Kind kind) {
  const std::uint32_t instructions = operation.instructions + instructions_without_entry_;
  const std::uint32_t index = window_.push(instructions);
  instructions_without_entry_ = 0;
  dispatch_ += instructions;
  Entry& added = window_[index];
  added.address = operation.address;
  added.ready = dispatch_;
  added.delay = delay_;
  added.wait = 0;
  added.store = 0;
  added.instructions = instructions;
  added.site = operation.site;
  added.first_waiter = kNoEntry;
  added.pending = 0;
  added.state = State::kWaiting;
  added.cause = Cause::kExecution;
  added.stores = 0;
  added.forwarded = added.region_begin = added.region_end = added.hint = false;
  added.kind = kind;
  added.delay_cause = delay_cause_;
  added.size = operation.size;
  delay_ = 0;
  return index;
}

namespace {

// Returns the number of the operation's bytes in the line of the first byte.
std::uint32_t bytes_in_first_line(const Operation& operation) {
  const auto to_the_end = static_cast<std::uint32_t>(kLineBytes - operation.address % kLineBytes);
  return std::min<std::uint32_t>(operation.size, to_the_end);
}

}  // namespace

std::uint32_t Core::stores_of(const Operation& operation) {
  return operation.size > bytes_in_first_line(operation) ? 2 : 1;
}

// Creates the store queue entries of an operation: two if it crosses a line. Returns the last.
StoreEntry& Core::new_stores(std::uint32_t index, StoreKind kind, const Operation& operation) {
  const std::uint32_t first_bytes = bytes_in_first_line(operation);
  if (operation.size == first_bytes) return new_store(index, kind, operation);
  Operation part = operation;
  part.size = static_cast<std::uint8_t>(first_bytes);
  new_store(index, kind, part).continues = true;
  part.address += first_bytes;
  if (part.value != nullptr) part.value += first_bytes;
  part.size = static_cast<std::uint8_t>(operation.size - first_bytes);
  StoreEntry& last = new_store(index, kind, part);
  last.follows = true;
  return last;
}

StoreEntry& Core::new_store(std::uint32_t index, StoreKind kind, const Operation& operation) {
  Entry& owner = window_[index];
  if (owner.stores++ == 0) owner.store = stores_.tail();
  const bool writes =
      operation.value != nullptr && (operation.kind != SiteKind::kAtomicUpdate || operation.flag);
  StoreEntry& store = push_store(index, kind, part_of(operation), writes);
  store.object = operation.object;
  store.version = operation.version;
  store.detail = operation.detail;
  store.lock_role = trace::is_atomic(operation.kind) ? locks_.role(operation) : LockRole::kNone;
  store.in_recorded_order = locks_.in_recorded_order(store.lock_role);
  store.synchronisation = kind == StoreKind::kAcquire || store.lock_role == LockRole::kTakes
                              ? ++dispatched_acquires_
                          : kind == StoreKind::kRelease || store.lock_role == LockRole::kGivesBack
                              ? ++dispatched_releases_
                              : 0;
  return store;
}

void Core::start(std::uint32_t index) {
  if (window_[index].pending == 0) execute(index);
  retire();
}

}  // namespace pmemsim
