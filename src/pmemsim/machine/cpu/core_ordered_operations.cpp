// Dispatch of the operations that order others: flushes, fences, locked instructions,
// synchronisation, regions and hints.
#include <algorithm>
#include <span>

#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {
using trace::LockRole;
using trace::MarkKind;
using trace::Operation;
using trace::SiteKind;
using trace::SyncKind;

bool Core::dispatch_through_stores(const Operation& operation, StoreKind kind, bool serialising) {
  if (!has_store_entries(operation, stores_of(operation))) return false;
  const std::uint32_t index = new_entry(operation, serialising ? Kind::kSerial : Kind::kPlain);
  StoreEntry& store = new_stores(index, kind, operation);
  store.serialising = serialising;
  if (kind == StoreKind::kFence || kind == StoreKind::kFullFence) {
    store.detail = static_cast<std::uint8_t>(stream_->fence_meaning());
    ++statistics_.fences;
  } else if (kind == StoreKind::kFlush) {
    ++statistics_.flushes;
  } else if (operation.kind == SiteKind::kSync && operation.address != 0) {
    locks_.count(static_cast<SyncKind>(operation.detail));
  } else if (kind == StoreKind::kLocked) {
    locks_.count(locks_.role(operation));
  }
  if (kind == StoreKind::kLocked || kind == StoreKind::kFlush) {
    window_.add_dependences(index, decoded_->dependences_of(operation.site));
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
  locks_.count(kind);
  return true;
}

bool Core::dispatch_acquire(const Operation& operation) {
  if (!has_entry(operation)) return false;
  const std::uint32_t index = new_entry(operation, Kind::kAcquire);
  Entry& lock = window_[index];
  lock.object = operation.object;
  lock.version = operation.version;
  lock.detail = operation.detail;
  lock.synchronisation = ++dispatched_acquires_;
  lock.store = stores_.tail();
  locks_.count(static_cast<SyncKind>(operation.detail));
  barrier_entry_ = index;
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
  if (layers_care ? !has_store_entries(operation, 1) : !has_entry(operation)) return false;
  const std::uint32_t index = new_entry(operation, serialising ? Kind::kSerial : Kind::kPlain);
  window_[index].store = stores_.tail();  // behind all stores of the region
  window_[index].region_begin = mark == MarkKind::kRegionBegin;
  window_[index].region_end = end;
  if (mark == MarkKind::kRegionBegin) {
    ++region_;
    in_region_ = true;
    if (rewinds_)
      region_starts_.push_back({region_, stream_->before_region(), locks_.held(),
                                dispatched_acquires_, dispatched_releases_, branches_.calls()});
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
    program_events_.region_durable(id_, region_, clock_.time(dispatch_));
  }
}

// Dispatches a hint, which the design receives when it retires.
bool Core::dispatch_hint(const Operation& operation) {
  Operation call = operation;
  call.instructions = hint_instructions_;
  if (!has_entry(call)) return false;
  statistics_.instructions += call.instructions;
  const std::uint32_t index = new_entry(call, Kind::kPlain);
  window_[index].hint = true;
  const auto bytes = static_cast<std::uint32_t>(operation.second);
  const std::span<const std::byte> data = stream_->hint_data();
  const auto known = data.first(std::min<std::size_t>(bytes, data.size()));
  reports_.add_hint({static_cast<trace::HintKind>((operation.second >> 32) & 0xff),
                     static_cast<std::uint32_t>(operation.second >> 40),
                     operation.address,
                     bytes,
                     {},
                     stream_->hint_number()},
                    known);
  start(index);
  return true;
}

}  // namespace pmemsim
