#include "pmemsim/backend/backend.hpp"

#include <cassert>
#include <utility>

#include "pmemsim/core/sentences.hpp"

namespace pmemsim {
namespace {

constexpr std::uint32_t kHere = UINT32_MAX - 1;  // WriteId::channel of what the backend has named
constexpr unsigned kSlotBits = 24;               // of a WriteId's number; the rest is the order
constexpr unsigned kOperationShift = 32;         // of a completion's argument; below it is the slot

constexpr std::uint64_t bit(std::size_t operation) { return std::uint64_t{1} << operation; }

}  // namespace

Backend::Backend(EventQueue& queue, Memory& pm, Operations operations, Picoseconds forward_latency)
    : queue_(queue),
      pm_(pm),
      operations_(std::move(operations)),
      forward_latency_(forward_latency),
      held_by_bank_(pm.pending_operations().size()) {
  for (const auto& operation : operations_) operation->connect(queue, pm);
}

// ---- Writes

WriteId Backend::write(const Write& write) {
  return operations_.empty() ? pm_.write(write) : take(write, false);
}

WriteId Backend::write_reserved(const Write& write) {
  return operations_.empty() ? pm_.write_reserved(write) : take(write, true);
}

WriteId Backend::take(const Write& write, bool reserved) {
  forget_what_has_left();
  const std::uint32_t slot = writes_.take();
  Passing& passing = writes_[slot];
  passing = {.write = write, .order = ++order_, .in_queue = {}};
  passing.reserved = reserved;
  if (std::uint32_t* const newest = newest_.find(write.line)) {
    passing.older = std::exchange(*newest, slot);
  } else {
    newest_.insert(write.line) = slot;
  }
  ++held_;
  ++held_by_bank_[bank_of(write.line)];
  const WriteId id = id_of(slot);
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Completion done =
        completion<&Backend::operation_done>(*this, i << kOperationShift | slot);
    if (!operations_[i]->write(write, done)) passing.unfinished |= bit(i);
  }
  send_next(write.line);
  return id;
}

void Backend::operation_done(std::uint64_t slot_and_operation, Picoseconds) {
  Passing& passing = writes_[static_cast<std::uint32_t>(slot_and_operation)];
  passing.unfinished &= ~bit(slot_and_operation >> kOperationShift);
  if (passing.unfinished == 0) send_next(passing.write.line);
}

// Rule 2.
void Backend::send_next(Line line) {
  while (const std::uint32_t* const newest = newest_.find(line)) {
    std::uint32_t next = kNoSlot;  // the oldest that hasn't been accepted
    for (std::uint32_t slot = *newest; slot != kNoSlot; slot = writes_[slot].older) {
      if (writes_[slot].state != State::kAccepted) next = slot;
    }
    if (next == kNoSlot || writes_[next].state == State::kSent || writes_[next].unfinished != 0) {
      return;
    }
    send(next);
  }
}

void Backend::send_next_later(std::uint64_t line, Picoseconds) { send_next({line}); }

void Backend::send(std::uint32_t slot) {
  Passing& passing = writes_[slot];
  --held_;
  --held_by_bank_[bank_of(passing.write.line)];
  passing.state = State::kSent;
  Write write = passing.write;
  write.persisting = completion<&Backend::accepted>(*this, slot);
  passing.in_queue = passing.reserved ? pm_.write_reserved(write) : pm_.write(write);
}

// From within the queue: what comes next has to wait until it is through.
void Backend::accepted(std::uint64_t number, Picoseconds now) {
  const auto slot = static_cast<std::uint32_t>(number);
  Passing& passing = writes_[slot];
  passing.state = State::kAccepted;
  accepted_.push_back(id_of(slot));
  if (*newest_.find(passing.write.line) == slot) return;
  queue_.schedule(now, Phase::kController,
                  completion<&Backend::send_next_later>(*this, passing.write.line.number));
}

// Those at the front have left their queues first, mostly; the others' turn comes.
void Backend::forget_what_has_left() {
  while (!accepted_.empty()) {
    const std::uint32_t slot = slot_of(accepted_.front());
    if (slot != kNoSlot) {
      if (pm_.pending(writes_[slot].in_queue) != nullptr) return;
      forget(slot);
    }
    accepted_.pop_front();
  }
}

void Backend::forget(std::uint32_t slot) {
  Passing& passing = writes_[slot];
  std::uint32_t* const newest = newest_.find(passing.write.line);
  std::uint32_t* link = newest;
  while (*link != slot) link = &writes_[*link].older;
  *link = passing.older;
  if (*newest == kNoSlot) newest_.erase(passing.write.line);
  passing.order = 0;
  writes_.give_back(slot);
}

// ---- Finding and dropping

WriteId Backend::id_of(std::uint32_t slot) const {
  return {kHere, writes_[slot].order << kSlotBits | slot};
}

std::uint32_t Backend::slot_of(WriteId id) const {
  if (id.channel != kHere) return kNoSlot;
  const auto slot = static_cast<std::uint32_t>(id.number & ((1u << kSlotBits) - 1));
  if (slot >= writes_.size() || writes_[slot].order != id.number >> kSlotBits) return kNoSlot;
  return slot;
}

bool Backend::droppable(const Passing& passing) const {
  return passing.state == State::kHeld || pm_.pending(passing.in_queue) != nullptr;
}

bool Backend::find(Line line, WriteKind kind, WriteId& id) const {
  if (operations_.empty()) return pm_.find(line, kind, id);
  const std::uint32_t* const newest = newest_.find(line);
  for (std::uint32_t slot = newest == nullptr ? kNoSlot : *newest; slot != kNoSlot;
       slot = writes_[slot].older) {
    if (writes_[slot].write.kind != kind || !droppable(writes_[slot])) continue;
    id = id_of(slot);
    return true;
  }
  return false;
}

const Write* Backend::pending(WriteId id) const {
  if (operations_.empty()) return pm_.pending(id);
  const std::uint32_t slot = slot_of(id);
  return slot != kNoSlot && droppable(writes_[slot]) ? &writes_[slot].write : nullptr;
}

bool Backend::drop(WriteId id) {
  if (operations_.empty()) return pm_.drop(id);
  const std::uint32_t slot = slot_of(id);
  if (slot == kNoSlot) return false;
  const Line line = writes_[slot].write.line;
  if (writes_[slot].state != State::kHeld) {
    const WriteId in_queue = writes_[slot].in_queue;
    if (!pm_.drop(in_queue)) return false;
    // With it, all that had merged with it.
    for (std::uint32_t other = *newest_.find(line); other != kNoSlot;) {
      const std::uint32_t older = writes_[other].older;
      if (writes_[other].state != State::kHeld && writes_[other].in_queue == in_queue) {
        forget(other);
      }
      other = older;
    }
  } else {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if ((writes_[slot].unfinished & bit(i)) == 0) continue;
      operations_[i]->dropped(
          completion<&Backend::operation_done>(*this, i << kOperationShift | slot));
    }
    --held_;
    --held_by_bank_[bank_of(line)];
    if (writes_[slot].reserved) pm_.release(channel_of(line));
    forget(slot);
  }
  send_next(line);
  return true;
}

LineData Backend::newest(Line line) const {
  const std::uint32_t* const newest = newest_.find(line);
  if (newest != nullptr && writes_[*newest].state == State::kHeld) {
    return writes_[*newest].write.data;
  }
  return pm_.newest(line);
}

std::span<const std::uint32_t> Backend::pending_operations() const {
  const std::span<const std::uint32_t> queued = pm_.pending_operations();
  if (held_ == 0) return queued;
  all_by_bank_.assign(queued.begin(), queued.end());
  for (std::size_t bank = 0; bank < all_by_bank_.size(); ++bank) {
    all_by_bank_[bank] += held_by_bank_[bank];
  }
  return all_by_bank_;
}

// ---- Reads

void Backend::read(Line line, Completion done) {
  if (operations_.empty()) return pm_.read(line, done);
  const std::uint32_t* const newest = newest_.find(line);
  if (newest != nullptr && writes_[*newest].state == State::kHeld) {  // rule 1
    ++forwarded_;
    queue_.schedule(queue_.now() + forward_latency_, Phase::kController, done);
    return;
  }
  const std::uint32_t slot = reads_.take();
  reads_[slot] = {done, 1};
  const Completion answered = completion<&Backend::read_answered>(*this, slot);
  for (const auto& operation : operations_) {
    reads_[slot].unanswered += !operation->read(line, answered);
  }
  pm_.read(line, answered);
}

void Backend::read_answered(std::uint64_t number, Picoseconds now) {
  const auto slot = static_cast<std::uint32_t>(number);
  if (--reads_[slot].unanswered > 0) return;
  const Completion done = reads_[slot].done;
  reads_.give_back(slot);
  if (done) done(now);
}

// ---- What is to be told

void Backend::statistics(StatisticsCollector& collector) const {
  for (const auto& operation : operations_) operation->statistics(collector);
}

std::string Backend::pending() const {
  return sentences(operations_.size() + 1, [this](std::size_t i) {
    if (i > 0) return operations_[i - 1]->pending();
    return held_ > 0 ? std::to_string(held_) + " writes are held by the backend" : std::string();
  });
}

}  // namespace pmemsim
