#include "pmemsim/machine/memory/pending_writes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace pmemsim {
namespace {

constexpr unsigned kSlotBits = 24;  // lower bits of a WriteId's number; the upper ones: order

}  // namespace

PendingWrites::PendingWrites(const MemoryParameters& p, std::span<std::uint32_t> operations)
    : operations_(operations),
      merging_(p.write_merging),
      lines_(std::bit_ceil((std::size_t{p.wpq_entries} + p.log_queue_entries) * 4), kNoSlot) {}

std::uint64_t PendingWrites::number_of(std::uint32_t slot) const {
  return writes_[slot].order << kSlotBits | slot;
}

std::uint32_t PendingWrites::slot_of(std::uint64_t number) const {
  const auto slot = static_cast<std::uint32_t>(number & ((1u << kSlotBits) - 1));
  if (slot >= writes_.size() || writes_[slot].order != number >> kSlotBits) return kNoSlot;
  return slot;
}

std::uint32_t PendingWrites::add(const Write& write, const DeviceLocation& location,
                                 std::uint64_t order, Time now) {
  const std::uint32_t slot = writes_.take();
  PendingWrite& pending = writes_[slot];
  pending.row = location.row;
  pending.bank = location.bank;
  pending.order = order;
  pending.write = write;
  pending.state = PendingWrite::State::kTravelling;
  pending.reserved = pending.log_queued = pending.is_accepted = false;
  pending.arrived = now;
  pending.same_bucket = std::exchange(lines_[bucket(write.line)], slot);
  most_ = std::max(most_, ++count_);
  ++operations_[location.bank];
  return slot;
}

void PendingWrites::remove(std::uint32_t slot) {
  unlink(slot);
  --count_;
  writes_.release(slot);
}

void PendingWrites::drop(std::uint32_t slot) {
  writes_[slot].state = PendingWrite::State::kDropped;
  unlink(slot);
}

void PendingWrites::arrived_dropped(std::uint32_t slot) {
  --count_;
  writes_.release(slot);
}

void PendingWrites::unlink(std::uint32_t slot) {
  std::uint32_t* link = &lines_[bucket(writes_[slot].write.line)];
  while (*link != slot) link = &writes_[*link].same_bucket;
  *link = writes_[slot].same_bucket;
  writes_[slot].order = 0;  // invalidates its WriteId
  --operations_[writes_[slot].bank];
}

bool PendingWrites::find(Line line, WriteKind kind, std::uint64_t& number) const {
  for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot;
       slot = writes_[slot].same_bucket) {
    const PendingWrite& pending = writes_[slot];
    if (pending.write.line == line && pending.write.kind == kind && pending.waits()) {
      number = number_of(slot);
      return true;
    }
  }
  return false;
}

const Write* PendingWrites::pending(std::uint64_t number) const {
  const std::uint32_t slot = slot_of(number);
  return slot != kNoSlot && writes_[slot].waits() ? &writes_[slot].write : nullptr;
}

Write PendingWrites::combined(Line line) const {
  Write all{.line = line, .data = {}, .persisted = {}, .written = {}, .bytes = 0};
  for_each(line, [&](std::uint32_t slot) { all.add_older(writes_[slot].write); });
  return all;
}

// The search stops at a write that a bank has taken: all older writes of the line are in their
// banks, too.
bool PendingWrites::whole_line_waits(Line line) const {
  ByteMask found = 0;
  for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot && found != kWholeLine;
       slot = writes_[slot].same_bucket) {
    if (writes_[slot].write.line != line) continue;
    if (!writes_[slot].waits()) return false;
    found |= writes_[slot].write.bytes;
  }
  return found == kWholeLine;
}

std::uint32_t PendingWrites::merge_candidate(const Write& write) const {
  using enum PendingWrite::State;
  if (!merging_) return kNoSlot;
  std::uint32_t slot = lines_[bucket(write.line)];
  while (slot != kNoSlot &&
         (writes_[slot].write.line != write.line || writes_[slot].state < kQueued)) {
    slot = writes_[slot].same_bucket;
  }
  if (slot == kNoSlot || writes_[slot].state != kQueued) return kNoSlot;
  const Write& other = writes_[slot].write;
  return other.kind == write.kind && other.owner == write.owner ? slot : kNoSlot;
}

void PendingWrites::add_waiting_bytes(std::uint32_t slot) {
  Write& write = writes_[slot].write;
  for_each(write.line, [&](std::uint32_t other) {
    const PendingWrite& waiting = writes_[other];
    if (waiting.state == PendingWrite::State::kWaiting) write.add_older(waiting.write);
  });
}

void PendingWrites::accepted(std::uint32_t slot) {
  PendingWrite& pending = writes_[slot];
  pending.accepted_previous = newest_accepted_;
  pending.accepted_next = kNoSlot;
  pending.is_accepted = true;
  (newest_accepted_ == kNoSlot ? oldest_accepted_ : writes_[newest_accepted_].accepted_next) = slot;
  newest_accepted_ = slot;
}

void PendingWrites::leave_accepted(std::uint32_t slot) {
  PendingWrite& pending = writes_[slot];
  pending.is_accepted = false;
  const std::uint32_t previous = pending.accepted_previous;
  const std::uint32_t next = pending.accepted_next;
  (previous == kNoSlot ? oldest_accepted_ : writes_[previous].accepted_next) = next;
  (next == kNoSlot ? newest_accepted_ : writes_[next].accepted_previous) = previous;
}

// The list of all accepted writes gives their order, but is long. It is only read if the line has
// several of them.
void PendingWrites::apply_accepted(Line line, LineData& data) const {
  std::uint32_t only = kNoSlot;
  for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot;
       slot = writes_[slot].same_bucket) {
    if (writes_[slot].write.line != line || !writes_[slot].is_accepted) continue;
    if (only != kNoSlot) {
      for_each_accepted([&](const Write& write) {
        if (write.line == line) take_bytes(data, write.data, write.bytes);
      });
      return;
    }
    only = slot;
  }
  if (only != kNoSlot && writes_[only].persistent) {
    take_bytes(data, writes_[only].write.data, writes_[only].write.bytes);
  }
}

}  // namespace pmemsim
