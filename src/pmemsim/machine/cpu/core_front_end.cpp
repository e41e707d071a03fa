// The front end of a core: free entries in the window, dispatch.
#include <algorithm>
#include <cstring>
#include <span>

#include "pmemsim/machine/cpu/core.hpp"
#include "pmemsim/trace/record_layout.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim {
using trace::FenceKind;
using trace::LockRole;
using trace::MarkKind;
using trace::Operation;
using trace::SiteKind;
using trace::SyncKind;

void Core::advance() {
  if (advancing_ || finished_ || paused_) return;
  advancing_ = true;
  const Slot horizon = clock_.slot(queue_.now() + run_ahead_);
  while (blocking_branch_ == kNoEntry) {
    if (!has_operation_ && !next_operation()) break;
    if (stream_->position() > races_.next() && !races_.pass(stream_->position() - 1, progress()))
      break;
    if (dispatch_ > horizon) {
      if (!wake_scheduled_) {
        wake_scheduled_ = true;
        queue_.schedule(clock_.time(dispatch_), Phase::kCore, completion<&Core::wake>(*this));
      }
      break;
    }
    if (dispatch_ >= slice_ends_ && !end_time_slice()) break;
    if (!dispatch(operation_)) break;
    has_operation_ = false;
  }
  advancing_ = false;
  if (at_end_ && !has_operation_ && window_.empty() && stores_.empty()) {
    finished_ = true;
    const Slot drained = store_head_.drained();
    store_head_.empty_buffers(drained);
    design_.thread_ended(id_);
    // Instructions after the last operation that has an entry.
    account_.add(Cause::kBase, instructions_without_entry_);
    retire_ += instructions_without_entry_;
    if (drained > retire_) {
      const Slot fence = store_head_.overlap(retire_, drained, Cause::kFence);
      account_.add(Cause::kFence, fence);
      account_.add(Cause::kStoreQueue, drained - retire_ - fence);
      retire_ = drained;
    }
  }
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

void Core::wake(std::uint64_t, Time) {
  wake_scheduled_ = false;
  advance();
}

// Continues the front end at an access that has waited for a race.
void Core::race_over(std::uint64_t, Time now) {
  delay_dispatch(clock_.slot(now), Cause::kOrder);
  advance();
}

bool Core::next_operation() {
  if (at_end_) return false;
  at_end_ = !stream_->next(operation_);
  const std::uint32_t left_over = stream_->take_left_over();
  statistics_.instructions += left_over;
  instructions_without_entry_ += left_over;
  if (at_end_) {
    if (races_.next() != RaceOrder::kNever) races_.pass(stream_->position(), progress());
    return false;
  }
  ++statistics_.operations;
  if (stream_->position() > half_) {
    half_ = RaceOrder::kNever;
    first_half_ = dispatch_;
  }
  if (operation_.kind != SiteKind::kMark && operation_.kind != SiteKind::kSync) {
    statistics_.instructions += operation_.instructions;
  }
  if (operation_.kind == SiteKind::kExternal) {
    statistics_.external_instructions += operation_.instructions;
    if (operation_.flag) statistics_.unknown_instructions += operation_.instructions;
  }
  if ((operation_.site_flags & (trace::kSiteEntry | trace::kSiteExit)) != 0) follow_call();
  previous_site_ = operation_.site;
  has_operation_ = true;
  return true;
}

// Follows calls and returns by the sites at which functions begin and end. The last operation
// before a function's first one is the call.
void Core::follow_call() {
  if ((operation_.site_flags & trace::kSiteEntry) != 0) returns_.call(previous_site_);
  if (operation_.kind != SiteKind::kExecute || (operation_.site_flags & trace::kSiteExit) == 0) {
    return;
  }
  ++statistics_.returns;
  mispredicted_return_ = !returns_.predicted_return();
}

// Dispatches the operation. Returns false if an entry is missing: an event later moves the window
// and calls advance() again.
bool Core::dispatch(const Operation& operation) {
  switch (operation.kind) {
    case SiteKind::kLoad:
    case SiteKind::kCopyLoad:
    case SiteKind::kAtomicLoad:
      return dispatch_load(operation);
    case SiteKind::kStore:
    case SiteKind::kNonTemporal:
    case SiteKind::kCopyStore:
    case SiteKind::kAtomicStore:
      return dispatch_store(operation);
    case SiteKind::kAtomicUpdate:
      return dispatch_through_stores(operation, StoreKind::kLocked, true);
    case SiteKind::kBranch:
      return dispatch_branch(operation);
    case SiteKind::kIndirectBranch:
      return dispatch_indirect_branch(operation);
    case SiteKind::kRecurrence:
      return dispatch_recurrence(operation);
    case SiteKind::kExecute:
      if (mispredicted_return_) return dispatch_mispredicted_return(operation);
      [[fallthrough]];
    case SiteKind::kExternal:
      if (instructions_without_entry_ + operation.instructions >= rob_entries_ / 4) {
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

bool Core::dispatch_load(const Operation& operation) {
  if (!has_free_entries(operation, 1, 0)) return false;
  const Kind kind = operation.kind == SiteKind::kAtomicLoad ? Kind::kAtomicLoad : Kind::kLoad;
  const std::uint32_t index = new_entry(operation, kind);
  Entry& load = entry(index);
  ++statistics_.loads;
  window_.load_dispatched();
  window_.add_dependences(index, dependences_of(operation.site), cycle_);
  if (barrier_entry_ != kNoEntry) {
    window_.wait_for(index, barrier_entry_, 0);
  } else {
    load.ready = std::max(load.ready, barrier_);
  }
  // A load behind a barrier finds the store queue empty, unless the barrier only acquires a lock.
  const bool empty = barrier_entry_ != kNoEntry && entry(barrier_entry_).kind != Kind::kAcquire;
  load.forwarded = kind == Kind::kLoad && !empty && forward(index);
  if (kind == Kind::kAtomicLoad &&
      !(in_recorded_order() && lock_role(operation) == LockRole::kNone)) {
    load.version = 0;  // version 0 never waits
  }
  // The awaited value ends a loop whose branch was predicted to repeat, so that the front end
  // stalls.
  if (kind == Kind::kAtomicLoad && synchronisation_.version(load.object) < load.version) {
    blocking_branch_ = index;
  }
  window_.produces(operation.site, index);
  start(index);
  return true;
}

// If the bytes are still in the store queue, the load waits for the youngest store that wrote any
// of them, and not for the cache. Memory dependences are known exactly, like with a good predictor.
bool Core::forward(std::uint32_t index) {
  Entry& load = entry(index);
  const StoreEntry* youngest = nullptr;
  const std::uint64_t last = (load.address + load.size - 1) / 8;
  for (std::uint64_t granule = load.address / 8; granule <= last; ++granule) {
    const StoreEntry* found = stores_.youngest(granule, load.ready);
    if (found != nullptr && (youngest == nullptr || found->number > youngest->number)) {
      youngest = found;
    }
  }
  if (youngest == nullptr) return false;
  ++statistics_.forwarded_loads;
  if (youngest->data_ready == kUnknownSlot) {
    window_.wait_for(index, youngest->rob, 0);
  } else {
    load.ready = std::max(load.ready, youngest->data_ready);
  }
  return true;
}

bool Core::dispatch_store(const Operation& operation) {
  if (!has_free_entries(operation, 0, stores_of(operation))) return false;
  const std::uint32_t index = new_entry(operation, Kind::kStore);
  ++statistics_.stores;
  const StoreKind kind = store_kind(operation);
  new_stores(index, kind, operation);
  if (kind == StoreKind::kAtomicStore) count_own_locks(lock_role(operation));
  window_.add_dependences(index, dependences_of(operation.site), cycle_);
  start(index);
  return true;
}

StoreKind Core::store_kind(const Operation& operation) const {
  if (operation.kind == SiteKind::kAtomicStore) return StoreKind::kAtomicStore;
  const bool past_the_caches =
      operation.kind == SiteKind::kNonTemporal &&
      (design_.lowering().keeps_non_temporal || !persistent(operation.address));
  return past_the_caches ? StoreKind::kNonTemporal : StoreKind::kStore;
}

bool Core::dispatch_through_stores(const Operation& operation, StoreKind kind, bool serialising) {
  if (!has_free_entries(operation, 0, stores_of(operation))) return false;
  const std::uint32_t index = new_entry(operation, serialising ? Kind::kSerial : Kind::kPlain);
  StoreEntry& store = new_stores(index, kind, operation);
  store.serialising = serialising;
  if (kind == StoreKind::kFence || kind == StoreKind::kFullFence) {
    store.detail = static_cast<std::uint8_t>(stream_->fence_meaning());
    ++statistics_.fences;
  } else if (kind == StoreKind::kFlush) {
    ++statistics_.flushes;
  } else if (operation.kind == SiteKind::kSync && operation.address != 0) {
    count_locks(static_cast<SyncKind>(operation.detail));
  } else if (kind == StoreKind::kLocked) {
    count_own_locks(lock_role(operation));
  }
  if (kind == StoreKind::kLocked || kind == StoreKind::kFlush) {
    window_.add_dependences(index, dependences_of(operation.site), cycle_);
  }
  // This follows add_dependences(): in a loop, a compare-exchange depends on the value that it read
  // in the previous iteration.
  if (kind == StoreKind::kLocked) window_.produces(operation.site, index);
  if (serialising && blocks_loads(operation, kind)) barrier_entry_ = index;
  start(index);
  return true;
}

// True if the serialising operation blocks younger loads.
bool Core::blocks_loads(const Operation& operation, StoreKind kind) const {
  const bool lock = operation.kind == SiteKind::kSync && (operation.address != 0 || operation.flag);
  return !(loads_pass_locks_ && (lock || kind == StoreKind::kLocked));
}

// Dispatches a synchronisation operation. Locks have an address. Other objects, such as condition
// variables, are kernel code and block all younger operations, on ARM too.
bool Core::dispatch_synchronisation(const Operation& operation) {
  const auto kind = static_cast<SyncKind>(operation.detail);
  if (operation.flag) return dispatch_annotated_lock(operation);
  if (arm_locks_ && operation.address != 0) {
    if (trace::is_lock(kind)) return dispatch_acquire(operation);
    if (trace::is_unlock(kind))
      return dispatch_through_stores(operation, StoreKind::kRelease, false);
  }
  return dispatch_through_stores(
      operation, trace::is_acquire(kind) ? StoreKind::kAcquire : StoreKind::kRelease, true);
}

// Dispatches an annotation of a lock. The recording contains the instructions that acquire or
// release the lock. The annotation writes nothing, and takes only the time that the design takes.
// An acquisition blocks younger operations.
bool Core::dispatch_annotated_lock(const Operation& operation) {
  const auto kind = static_cast<SyncKind>(operation.detail);
  const bool acquires = trace::is_acquire(kind);
  Operation note = operation;
  note.address = 0;
  if (!dispatch_through_stores(note, acquires ? StoreKind::kAcquire : StoreKind::kRelease,
                               acquires)) {
    return false;
  }
  count_locks(kind);
  return true;
}

bool Core::dispatch_acquire(const Operation& operation) {
  if (!has_free_entries(operation, 0, 0)) return false;
  const std::uint32_t index = new_entry(operation, Kind::kAcquire);
  entry(index).synchronisation = ++dispatched_acquires_;
  entry(index).store = stores_.tail();
  count_locks(static_cast<SyncKind>(operation.detail));
  barrier_entry_ = index;
  start(index);
  return true;
}

void Core::count_locks(SyncKind kind) {
  if (trace::is_lock(kind)) {
    ++statistics_.locks;
    ++locks_held_;
  } else if (trace::is_unlock(kind) && locks_held_ > 0) {
    --locks_held_;  // otherwise the lock was acquired before the recording began
  }
}

LockRole Core::lock_role(const Operation& operation) const {
  if (lock_order_ == LockOrder::kRecorded) return LockRole::kNone;
  const auto role = static_cast<LockRole>(operation.detail);
  const bool tries = operation.kind == SiteKind::kAtomicUpdate && !operation.flag;
  return role != LockRole::kNone && tries ? LockRole::kOther : role;
}

void Core::count_own_locks(LockRole role) {
  if (role == LockRole::kTakes) ++locks_held_;
  if (role == LockRole::kGivesBack && locks_held_ > 0) --locks_held_;
}

bool Core::dispatch_branch(const Operation& operation) {
  // Checked first, so that each branch queries the predictor only once.
  if (!has_free_entries(operation, 0, 0)) return false;
  ++statistics_.branches;
  if (directions_.predicted(operation.site, operation.flag, branch_history_)) {
    instructions_without_entry_ += operation.instructions;
    return true;
  }
  ++statistics_.mispredicted_branches;
  block_at(operation);
  return true;
}

bool Core::dispatch_indirect_branch(const Operation& operation) {
  if (!has_free_entries(operation, 0, 0)) return false;
  ++statistics_.indirect_branches;
  const auto target = static_cast<std::uint32_t>(operation.address);
  if (targets_.predicted(operation.site, target, branch_history_)) {
    instructions_without_entry_ += operation.instructions;
    return true;
  }
  ++statistics_.mispredicted_targets;
  block_at(operation);
  return true;
}

bool Core::dispatch_mispredicted_return(const Operation& operation) {
  if (!has_free_entries(operation, 0, 0)) return false;
  mispredicted_return_ = false;
  ++statistics_.mispredicted_returns;
  block_at(operation);
  return true;
}

// Dispatches a mispredicted branch, which stops the front end until it has executed.
void Core::block_at(const Operation& branch) {
  const std::uint32_t index = new_entry(branch, Kind::kBranch);
  window_.add_dependences(index, dependences_of(branch.site), cycle_);
  blocking_branch_ = index;
  start(index);
}

// Dispatches a recurrence, which is not an instruction. It is complete when its value is ready, and
// retires no earlier, like the instruction that computes the value.
bool Core::dispatch_recurrence(const Operation& operation) {
  if (!has_free_entries(operation, 0, 0)) return false;
  const std::uint32_t index = new_entry(operation, Kind::kRecurrence);
  const trace::SiteRecord& site = sites_->sites()[operation.site];
  const auto dependences = sites_->dependences(site);
  window_.add_dependences(index,
                          operation.flag ? dependences.subspan(site.address_dependences)
                                         : dependences.first(site.address_dependences),
                          cycle_);
  window_.produces(operation.site, index);
  start(index);
  return true;
}

bool Core::dispatch_mark(const Operation& operation) {
  const auto mark = static_cast<MarkKind>(operation.detail);
  if (mark == MarkKind::kHint) return dispatch_hint(operation);
  if (mark == MarkKind::kReadFirst) {
    design_.require_readable(Line::of(operation.address));
    return true;
  }
  const bool layers_care = design_.wants(kRegions | kRewind);
  const bool end = mark == MarkKind::kRegionEnd;
  const bool serialising =
      mark == MarkKind::kFenceRegions || (end && design_.commits_synchronously());
  if (!has_free_entries(operation, 0, layers_care ? 1 : 0)) return false;
  const std::uint32_t index = new_entry(operation, serialising ? Kind::kSerial : Kind::kPlain);
  entry(index).store = stores_.tail();  // behind all stores of the region
  entry(index).region_begin = mark == MarkKind::kRegionBegin;
  entry(index).region_end = end;
  if (mark == MarkKind::kRegionBegin) {
    ++region_;
    in_region_ = true;
    if (rewinds_)
      region_starts_.push_back({region_, stream_->before_region(), locks_held_,
                                dispatched_acquires_, dispatched_releases_, returns_.depth()});
  }
  if (layers_care) {
    StoreEntry& store = new_store(index,
                                  end                              ? StoreKind::kRegionEnd
                                  : mark == MarkKind::kRegionBegin ? StoreKind::kRegionBegin
                                                                   : StoreKind::kFenceRegions,
                                  operation);
    store.serialising = serialising;
    // The number of the last region that has ended.
    if (store.kind == StoreKind::kFenceRegions) store.region = in_region_ ? region_ - 1 : region_;
    if (serialising) barrier_entry_ = index;
  } else if (end && ends_are_durable_) {
    end_region_with_its_last_store();
  }
  if (end) in_region_ = false;
  start(index);
  return true;
}

// Ends the region without an entry of the store queue, because no layer takes part in regions.
void Core::end_region_with_its_last_store() {
  if (!stores_.empty() && stores_.back().region == region_) {
    stores_.back().ends_region = true;
  } else {
    program_events_.region_durable(id_, region_);
  }
}

// Dispatches a hint, which the design receives when it retires.
bool Core::dispatch_hint(const Operation& operation) {
  Operation call = operation;
  call.instructions = hint_instructions_;
  if (!has_free_entries(call, 0, 0)) return false;
  statistics_.instructions += call.instructions;
  const std::uint32_t index = new_entry(call, Kind::kPlain);
  entry(index).hint = true;
  const auto bytes = static_cast<std::uint32_t>(operation.second);
  const std::span<const std::byte> data = stream_->hint_data();
  const auto known = data.first(std::min<std::size_t>(bytes, data.size()));
  hints_.push_back({{static_cast<trace::HintKind>((operation.second >> 32) & 0xff),
                     static_cast<std::uint32_t>(operation.second >> 40),
                     operation.address,
                     bytes,
                     {},
                     stream_->hint_number()},
                    {known.begin(), known.end()}});
  start(index);
  return true;
}

bool Core::dispatch_plain(const Operation& operation, Kind kind) {
  if (!has_free_entries(operation, 0, 0)) return false;
  const std::uint32_t index = new_entry(operation, kind);
  if (kind == Kind::kSerial) barrier_entry_ = index;
  start(index);
  return true;
}

bool Core::has_free_entries(const Operation& operation, std::uint32_t loads, std::uint32_t stores) {
  const std::uint32_t instructions =
      std::min(operation.instructions + instructions_without_entry_, rob_entries_);
  if (!window_.free_entries(instructions, dispatch_)) return false;
  if (loads > 0 && !window_.has_load_entry(dispatch_)) return false;
  if (stores > 0) {
    if (!stores_.has_free_entries(stores)) return false;
    const Slot free = stores_.free_since(stores);
    if (free > dispatch_) {
      const Slot fence = store_head_.overlap(dispatch_, free, Cause::kFence);
      delay_dispatch(free, 2 * fence >= free - dispatch_ ? Cause::kFence : Cause::kStoreQueue);
    }
  }
  return true;
}

void Core::delay_dispatch(Slot until, Cause cause) {
  if (until <= dispatch_) return;
  delay_ += until - dispatch_;
  delay_cause_ = cause;
  dispatch_ = until;
}

std::uint32_t Core::new_entry(const Operation& operation, Kind kind) {
  const std::uint32_t instructions = operation.instructions + instructions_without_entry_;
  const std::uint32_t index = window_.push(instructions);
  instructions_without_entry_ = 0;
  dispatch_ += instructions;
  Entry& added = entry(index);
  added.address = operation.address;
  added.dispatched = added.ready = dispatch_;
  added.retired = kUnknownSlot;
  added.delay = delay_;
  added.delay_cause = delay_cause_;
  added.wait = 0;
  added.store = 0;
  added.instructions = instructions;
  added.site = operation.site;
  added.first_waiter = kNoEntry;
  added.next_in_line = kNoEntry;
  added.object = operation.object;
  added.version = operation.version;
  added.detail = operation.detail;
  added.pending = 0;
  added.kind = kind;
  added.state = State::kWaiting;
  added.cause = Cause::kExecution;
  added.size = operation.size;
  added.stores = 0;
  added.forwarded = false;
  added.region_begin = added.region_end = added.hint = false;
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
  Entry& owner = entry(index);
  if (owner.stores++ == 0) owner.store = stores_.tail();
  const std::uint64_t number = stores_.tail();
  StoreEntry& store = stores_.push();
  store.address = operation.address;
  store.number = number;
  store.region = in_region_ ? region_ : 0;
  store.eligible = store.data_ready = kUnknownSlot;
  store.rob = index;
  store.site = operation.site;
  store.object = operation.object;
  store.version = operation.version;
  store.kind = kind;
  store.purpose = stream_->purpose();
  store.detail = operation.detail;
  store.size = operation.size;
  store.step = Step::kArrived;
  store.asked = LayerAsked::kNone;
  store.waits = store.serialising = store.ends_region = store.continues = store.follows = false;
  store.lock_role = trace::is_atomic(operation.kind) ? lock_role(operation) : LockRole::kNone;
  store.in_recorded_order = in_recorded_order() && store.lock_role == LockRole::kNone;
  store.synchronisation = kind == StoreKind::kAcquire || store.lock_role == LockRole::kTakes
                              ? ++dispatched_acquires_
                          : kind == StoreKind::kRelease || store.lock_role == LockRole::kGivesBack
                              ? ++dispatched_releases_
                              : 0;
  store.writes =
      operation.value != nullptr && (operation.kind != SiteKind::kAtomicUpdate || operation.flag);
  if (store.writes) {
    std::memcpy(store.value.data(), operation.value, operation.size);
    const std::uint64_t last = (store.address + store.size - 1) / 8;
    for (std::uint64_t granule = store.address / 8; granule <= last; ++granule) {
      stores_.remember(granule, number);
    }
  }
  return store;
}

void Core::start(std::uint32_t index) {
  if (entry(index).pending == 0) execute(index);
  retire();
}

}  // namespace pmemsim
