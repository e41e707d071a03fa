#include "pmemsim/designs/backend/passing_writes.hpp"

#include <utility>

namespace pmemsim {
namespace {

// WriteId::channel of the identities that the backend has assigned.
constexpr std::uint32_t kBackendChannel = UINT32_MAX - 1;
// Bits of the slot in a WriteId's number; the bits above are the order.
constexpr unsigned kSlotBits = 24;

}  // namespace

WriteId PassingWrites::id_of(std::uint32_t slot) const {
  return {kBackendChannel, writes_[slot].order << kSlotBits | slot};
}

std::uint32_t PassingWrites::slot_of(WriteId id) const {
  if (id.channel != kBackendChannel) return kNoSlot;
  const auto slot = static_cast<std::uint32_t>(id.number & ((1u << kSlotBits) - 1));
  if (slot >= writes_.size() || writes_[slot].order != id.number >> kSlotBits) return kNoSlot;
  return slot;
}

std::uint32_t PassingWrites::add(const Write& write, bool reserved) {
  const std::uint32_t slot = writes_.take();
  PassingWrite& passing = writes_[slot];
  passing = {.write = write, .order = ++order_, .in_queue = {}, .encoded = {}};
  passing.reserved = reserved;
  if (std::uint32_t* const newest = newest_.find(write.line)) {
    passing.older = std::exchange(*newest, slot);
  } else {
    newest_.insert(write.line) = slot;
  }
  return slot;
}

void PassingWrites::remove(std::uint32_t slot) {
  PassingWrite& passing = writes_[slot];
  std::uint32_t* const newest = newest_.find(passing.write.line);
  std::uint32_t* link = newest;
  while (*link != slot) link = &writes_[*link].older;
  *link = passing.older;
  if (*newest == kNoSlot) newest_.erase(passing.write.line);
  passing.order = 0;
  writes_.release(slot);
}

std::uint32_t PassingWrites::oldest_unaccepted(Line line) const {
  std::uint32_t oldest = kNoSlot;
  for (std::uint32_t slot = newest(line); slot != kNoSlot; slot = writes_[slot].older) {
    if (writes_[slot].state != PassingWrite::State::kAccepted) oldest = slot;
  }
  return oldest;
}

bool PassingWrites::hold_whole(Line line) const {
  ByteMask held = 0;
  for (std::uint32_t slot = newest(line); slot != kNoSlot && writes_[slot].is_held();
       slot = writes_[slot].older) {
    held |= writes_[slot].write.bytes;
  }
  return held == kWholeLine;
}

Write PassingWrites::unaccepted(Line line) const {
  Write all{.line = line, .data = {}, .persisted = {}, .written = {}, .bytes = 0};
  for (std::uint32_t slot = newest(line);
       slot != kNoSlot && writes_[slot].state != PassingWrite::State::kAccepted;
       slot = writes_[slot].older) {
    all.add_older(writes_[slot].write);
  }
  return all;
}

bool PassingWrites::droppable(const PassingWrite& passing) const {
  if (passing.is_held()) return true;
  if (passing.encoded.duplicate || passing.overwritten) return false;
  return queues_.pending(passing.in_queue) != nullptr && !needed_by_newer(passing);
}

// Writes that have merged are dropped together.
bool PassingWrites::needed_by_newer(const PassingWrite& passing) const {
  std::uint32_t slot = newest(passing.write.line);
  for (; &writes_[slot] != &passing; slot = writes_[slot].older) {
    const PassingWrite& newer = writes_[slot];
    if (newer.was_partial && newer.in_queue != passing.in_queue) return true;
    if (newer.encoded.duplicate && !newer.is_held()) return true;
  }
  return false;
}

}  // namespace pmemsim
