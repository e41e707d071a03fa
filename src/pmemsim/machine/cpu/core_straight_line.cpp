// Straight-line code: loads, stores, predicted branches and arithmetic that have to wait for
// nothing. Most operations of most programs are such code.
//
// The core passes it in one loop over its records. It fills no Operation, and no entry of the
// window if nothing older is in flight. An operation passes only if it has the same effects as by
// next_operation(), dispatch(), execute(), complete() and retire(). The loop stops before others,
// and has looked for free entries at most, which dispatch() does again without further effect:
//
//   1  operations at which the front end does more than to dispatch them: those after half_,
//      RaceOrder::next() or the limit of dispatch
//   2  all other kinds of operations, mispredicted branches and returns, damaged records
//   3  operations with unknown operands, loads behind a barrier, accesses to two lines or to pages
//      that the first TLB lacks, loads of lines that the L1 lacks
#include <algorithm>
#include <cstring>

#include "pmemsim/machine/cpu/core.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {
using Site = DecodedSites::Kind;
using trace::LockRole;
using trace::Operation;
using trace::SiteKind;

// Creates a store queue entry. Its fields for atomics and synchronisation have the values of an
// older entry.
StoreEntry& Core::push_store(std::uint32_t index, StoreKind kind, Part operation, bool writes) {
  const std::uint64_t number = stores_.tail();
  StoreEntry& store = stores_.push();
  store.address = operation.address;
  store.number = number;
  store.region = in_region_ ? region_ : 0;
  store.eligible = store.data_ready = kUnknownSlot;
  store.rob = index;
  store.site = operation.site;
  store.kind = kind;
  store.purpose = stream_->purpose();
  store.size = operation.size;
  store.step = Step::kArrived;
  store.asked = LayerAsked::kNone;
  store.lock_role = LockRole::kNone;
  store.waits = store.serialising = store.ends_region = store.continues = store.follows = false;
  store.writes = writes;
  if (writes) {
    std::memcpy(store.value.data(), operation.value, operation.size);
    stores_.remember(operation.address, operation.size, number);
  }
  return store;
}

// Retires an operation that has completed at `done`, as the only one in flight, like retire().
[[gnu::always_inline]] inline void Core::retire_at_once(Slot done, std::uint32_t instructions) {
  const Slot in_turn = retire_ + instructions;
  time_.account().add(Cause::kBase, instructions);
  if (done > in_turn) {
    const Slot delayed = std::min(done - in_turn, delay_);
    time_.account().add(delay_cause_, delayed);
    time_.account().add(Cause::kExecution, done - in_turn - delayed);
  }
  delay_ = 0;
  retire_ = std::max(in_turn, done);
  window_.retire_oldest(retire_);
}

// Dispatches an operation that completes at `done`. Nothing waits for its entry. The first function
// also retires the operation, which must be the only one in flight. They return the entry.
[[gnu::always_inline]] inline std::uint32_t Core::pass_at_once(std::uint32_t instructions,
                                                               Slot done) {
  instructions_without_entry_ = 0;
  dispatch_ += instructions;
  const std::uint32_t index = window_.push(instructions);
  retire_at_once(done, instructions);
  return index;
}
std::uint32_t Core::enter_complete(Part operation, Kind kind, Slot done) {
  const std::uint32_t index = new_entry(operation, kind);
  window_[index].ready = done;
  window_[index].state = State::kComplete;
  return index;
}

// Executes a load if its operands are known and its line is in the L1. Returns false, without any
// effect, if the load isn't that simple.
[[gnu::always_inline]] inline bool Core::load_at_once(Part load,
                                                      std::span<const Dependence> dependences) {
  const std::size_t way = caches_.find_in_l1(load.address, load.size);
  if (way == kNoWay) return false;
  const Slot ready = operands_ready(dependences, load.instructions, barrier_);
  if (ready >= InstructionWindow::kNotComplete) return false;
  const StoreEntry* const store = stores_.youngest(load.address, load.size, ready);
  if (store != nullptr && store->data_ready == kUnknownSlot) return false;
  if (!loads_.translated_at_once(load.address, load.size)) return false;
  ++statistics_.loads;
  window_.load_dispatched();
  Slot done;
  if (store != nullptr) {
    ++statistics_.forwarded_loads;
    done = std::max(ready, store->data_ready) + forward_latency_;
  } else {
    done = caches_.read_l1(way, ready);
  }
  window_.produced_at_once(load.site, done);
  if (retires_at_once()) {
    pass_at_once(load.instructions + instructions_without_entry_, done);
    window_.load_retired(retire_);
    if (reports_.wants_loads()) {
      reports_.load(load.address, load.size, store != nullptr, retire_);
    }
  } else {
    window_[enter_complete(load, Kind::kLoad, done)].forwarded = store != nullptr;
  }
  return true;
}

// Does the same for a store in one line. The store then waits in the store queue, or has left it.
[[gnu::always_inline]] inline bool Core::store_at_once(Part operation,
                                                       std::span<const Dependence> dependences) {
  const Slot ready = operands_ready(dependences, operation.instructions, 0);
  if (ready >= InstructionWindow::kNotComplete ||
      !loads_.translated_at_once(operation.address, operation.size)) {
    return false;
  }
  ++statistics_.stores;
  const Slot done = ready + cycle_;
  if (!retires_at_once()) {
    const std::uint32_t index = enter_complete(operation, Kind::kStore, done);
    window_[index].stores = 1;
    window_[index].store = stores_.tail();
    push_store(index, StoreKind::kStore, operation, true).data_ready = done;
    return true;
  }
  const std::uint32_t index =
      pass_at_once(operation.instructions + instructions_without_entry_, done);
  if (!reports_.wants_stores() &&
      store_head_.write_at_once(operation.address, operation.size, retire_, done)) {
    return true;
  }
  StoreEntry& store = push_store(index, StoreKind::kStore, operation, true);
  store.data_ready = done;
  store.eligible = retire_;
  if (reports_.wants_stores()) reports_.store(store, 0, retire_);
  store_head_.request_lines_ahead();
  store_head_.drain();
  return true;
}

// Try the same for an operation that the front end dispatches.
bool Core::load_at_once(const Operation& operation) {
  if (barrier_entry_ != kNoEntry || operation.kind == SiteKind::kAtomicLoad || port_.present() ||
      races_.any_reached()) {
    return false;
  }
  return load_at_once(part_of(operation), decoded_->dependences_of(operation.site));
}
bool Core::store_at_once(const Operation& operation) {
  if (operation.kind == SiteKind::kAtomicStore || operation.kind == SiteKind::kNonTemporal ||
      races_.any_reached() || stores_of(operation) > 1) {
    return false;
  }
  return store_at_once(part_of(operation), decoded_->dependences_of(operation.site));
}

// Passes a recurrence whose operands are known.
[[gnu::always_inline]] inline bool Core::recur_at_once(Part value,
                                                       std::span<const Dependence> dependences) {
  const Slot done = operands_ready(dependences, value.instructions, 0);
  if (done >= InstructionWindow::kNotComplete) return false;
  window_.produced_at_once(value.site, done);
  if (retires_at_once()) {
    pass_at_once(value.instructions + instructions_without_entry_, done);
  } else {
    enter_complete(value, Kind::kRecurrence, done);
  }
  return true;
}

// Each of the following functions passes one record. They return its length, or 0 if it doesn't
// pass. They aren't inlined, so that each has the host's registers for itself.

[[gnu::noinline]] std::size_t Core::pass_load(const DecodedSites::Site& site, std::uint32_t number,
                                              const std::byte* payload) {
  const auto address = trace::detail::load<std::uint64_t>(payload);
  std::uint8_t size = site.size;
  if (site.kind == Site::kCopyLoad) {
    size = static_cast<std::uint8_t>(payload[sizeof(address)]);
    if (size - 1u >= trace::kCopyBytes) return 0;
  }
  if (address > trace::kMaxAddress || barrier_entry_ != kNoEntry || !has_entry(site.instructions) ||
      !window_.has_load_entry(dispatch_)) {
    return 0;
  }
  const Part load{address + address_offset_, nullptr, number, site.instructions, size};
  return load_at_once(load, decoded_->dependences(site)) ? site.bytes : 0;
}

[[gnu::noinline]] std::size_t Core::pass_store(const DecodedSites::Site& site, std::uint32_t number,
                                               const std::byte* payload, const std::byte* end) {
  const auto address = trace::detail::load<std::uint64_t>(payload);
  const std::byte* value = payload + sizeof(address);
  std::uint8_t size = site.size;
  std::size_t bytes = site.bytes;
  if (site.kind == Site::kCopyStore) {
    size = static_cast<std::uint8_t>(*value++);
    bytes += size;
    if (size - 1u >= trace::kCopyBytes || size > end - value) return 0;
  }
  if (address > trace::kMaxAddress || address % kLineBytes + size > kLineBytes ||
      !has_store_entries(site.instructions, 1)) {
    return 0;
  }
  const Part store{address + address_offset_, value, number, site.instructions, size};
  return store_at_once(store, decoded_->dependences(site)) ? bytes : 0;
}

[[gnu::noinline]] bool Core::pass_branch(std::uint32_t instructions, std::uint32_t number,
                                         bool taken) {
  if (!has_entry(instructions) || !branches_.passes_branch(number, taken)) return false;
  instructions_without_entry_ += instructions;
  return true;
}

[[gnu::noinline]] bool Core::pass_return(std::uint32_t instructions) {
  if (!needs_no_entry(instructions) || !branches_.passes_return()) return false;
  instructions_without_entry_ += instructions;
  return true;
}

[[gnu::noinline]] bool Core::pass_recurrence(std::uint32_t instructions, std::uint32_t number,
                                             bool iterates) {
  return has_entry(instructions) && recur_at_once({0, nullptr, number, instructions, 0},
                                                  decoded_->of_recurrence(number, iterates));
}

// Passes operations up to the first one that stops the loop, or that comes after `limit`. Returns
// true if the next operation is due, and has to wait for something.
bool Core::pass_straight_line(Slot limit) {
  const auto [begin, end] = stream_->records();
  const std::uint64_t position = stream_->position();
  const std::uint64_t special = std::min(half_, races_.next());
  if (begin == end || position >= special || port_.present() || races_.any_reached()) return false;
  const std::span<const DecodedSites::Site> sites = decoded_->sites();
  const std::byte* record = begin;
  std::uint64_t left = special - position, instructions = 0;
  std::uint32_t previous = branches_.previous_site();
  bool waits = false;
  for (; record != end && left > 0 && dispatch_ <= limit; --left) {
    const auto head = trace::detail::load<std::uint32_t>(record);
    const std::uint32_t number = head >> 1;
    if (number >= sites.size()) break;
    const DecodedSites::Site& site = sites[number];
    const std::size_t fixed = site.bytes;
    if (site.kind == Site::kOther || fixed > static_cast<std::size_t>(end - record)) break;
    const bool flag = (head & 1) != 0;
    const std::byte* const payload = record + trace::kHeadBytes;
    std::size_t bytes = 0;
    if (site.kind == Site::kBranch) {
      bytes = pass_branch(site.instructions, number, flag) ? fixed : 0;
    } else if (site.kind == Site::kRecurrence) {
      bytes = pass_recurrence(site.instructions, number, flag) ? fixed : 0;
    } else if (flag) {
      break;  // a damaged record
    } else if (site.kind == Site::kLoad || site.kind == Site::kCopyLoad) {
      bytes = pass_load(site, number, payload);
    } else if (site.kind == Site::kStore || site.kind == Site::kCopyStore) {
      bytes = pass_store(site, number, payload, end);
    } else if (site.kind == Site::kReturn) {
      bytes = pass_return(site.instructions) ? fixed : 0;
    } else if (needs_no_entry(site.instructions)) {
      instructions_without_entry_ += site.instructions;
      bytes = fixed;
    }
    waits = bytes == 0;
    if (waits) break;
    if (site.enters) [[unlikely]]
      branches_.call(previous);
    previous = number;
    instructions += site.instructions;
    record += bytes;
  }
  const std::uint64_t passed = special - position - left;
  branches_.set_previous_site(previous);
  statistics_.operations += passed;
  statistics_.instructions += instructions;
  stream_->passed(record, passed);
  return waits;
}

}  // namespace pmemsim
