#include "pmemsim/designs/backend/result_buffer.hpp"

#include <cassert>
#include <utility>

namespace pmemsim {
namespace {

// Bits of the slot in a PreparedId's number; the bits above are the order.
constexpr unsigned kEntryBits = 24;

// Returns the known bytes of a prediction that differ from the write's.
ByteMask differing(const Prediction& prediction, const Write& write) {
  ByteMask found = 0;
  for (std::size_t at = 0; at < kLineBytes; ++at) {
    found |= ByteMask{prediction.data[at] != write.data[at]} << at;
  }
  return found & prediction.bytes;
}

bool same_data(const Prediction& prediction, const Write& write) {
  if (!prediction.whole()) return false;
  return prediction.data == write.data || (differing(prediction, write) & prediction.compared) == 0;
}

}  // namespace

void ResultBuffer::configure(const ResultBufferSize& size, PredictionObserver& observer,
                             WriteValidator* validator) {
  size_ = size;
  observer_ = &observer;
  validator_ = validator;
}

// ---- Rules 1 and 2 (result_buffer.hpp)

PreparedId ResultBuffer::prepare(const Prediction& prediction) {
  discard_old();
  if (!usable_ || taken_ >= size_.entries) return {};
  const std::uint32_t slot = entries_.take();
  Entry& entry = entries_[slot];
  entry = {.prediction = prediction, .prepared = queue_.now()};
  entry.outcome.id = {++order_ << kEntryBits | slot};
  entry.outcome.core = prediction.core;
  entry.outcome.number = prediction.number;
  by_age_.push_back(entries_, slot);
  ++taken_;
  if (stages_ != nullptr) log_occupancy();
  if (prediction.line) add_to_line(slot);
  pass_to_gates(slot);
  return entry.outcome.id;
}

bool ResultBuffer::starts_at_once(Completion free) const {
  return std::ranges::all_of(gates_, [&](WriteGate* gate) { return gate->starts_at_once(free); });
}

bool ResultBuffer::complete(PreparedId id, Line line) {
  discard_old();
  const std::uint32_t slot = slot_of(id);
  if (slot == kNoSlot) return false;
  assert(!entries_[slot].prediction.line);
  entries_[slot].prediction.line = line;
  add_to_line(slot);
  pass_to_gates(slot);
  return true;
}

bool ResultBuffer::complete(PreparedId id, const LineData& data, ByteMask bytes) {
  discard_old();
  const std::uint32_t slot = slot_of(id);
  if (slot == kNoSlot) return false;
  Prediction& prediction = entries_[slot].prediction;
  take_bytes(prediction.data, data, bytes);
  prediction.bytes |= bytes;
  pass_to_gates(slot);
  return true;
}

void ResultBuffer::pass_to_gates(std::uint32_t slot) {
  const Entry& entry = entries_[slot];
  for (WriteGate* const gate : gates_) gate->prepare(entry.outcome.id, entry.prediction);
}

std::uint32_t ResultBuffer::slot_of(PreparedId id) const {
  const auto slot = static_cast<std::uint32_t>(id.number & ((1u << kEntryBits) - 1));
  return id && slot < entries_.size() && entries_[slot].outcome.id == id ? slot : kNoSlot;
}

void ResultBuffer::add_to_line(std::uint32_t slot) {
  const Line line = *entries_[slot].prediction.line;
  if (std::uint32_t* const newest = newest_.find(line)) {
    entries_[slot].older = std::exchange(*newest, slot);
  } else {
    newest_.insert(line) = slot;
  }
}

// ---- Rule 3 (result_buffer.hpp)

Prepared ResultBuffer::claim(const Write& write) {
  discard_old();
  if (validator_ != nullptr) return validator_->validate(write);
  const std::uint32_t slot = find(write);
  if (slot == kNoSlot) return used_before(write);
  unlink(slot);
  const Entry& entry = entries_[slot];
  const Prediction& prediction = entry.prediction;
  Outcome& outcome = entries_[slot].outcome;
  const bool data = faults_.prepared_data || same_data(prediction, write);
  outcome.fate = data ? Fate::kUsed : Fate::kUsedInPart;
  outcome.differing = differing(prediction, write);
  outcome.written = write.data;
  outcome.when = queue_.now();
  if (!data || !prediction.whole()) return {.id = outcome.id};
  if (faults_.used_twice) note_used(write);
  return {.id = outcome.id,
          .data = prediction.data,
          .since = entry.prepared,
          .counter_outdated = entry.counter_outdated};
}

void ResultBuffer::note_used(const Write& write) {
  LineData* const known = used_.find(write.line);
  (known != nullptr ? *known : used_.insert(write.line)) = write.data;
}

Prepared ResultBuffer::used_before(const Write& write) const {
  const LineData* const used = used_.find(write.line);
  if (used == nullptr || *used != write.data) return {};
  return {.data = *used, .counter_outdated = true};
}

void ResultBuffer::mark_counter_outdated(Line line) {
  const std::uint32_t* const newest = newest_.find(line);
  for (std::uint32_t slot = newest == nullptr ? kNoSlot : *newest; slot != kNoSlot;
       slot = entries_[slot].older) {
    entries_[slot].counter_outdated = true;
  }
}

std::uint32_t ResultBuffer::find(const Write& write) const {
  if (faults_.prepared_line) return by_age_.first();
  const std::uint32_t* const newest = newest_.find(write.line);
  std::uint32_t oldest = kNoSlot;
  for (std::uint32_t slot = newest == nullptr ? kNoSlot : *newest; slot != kNoSlot;
       slot = entries_[slot].older) {
    if (same_data(entries_[slot].prediction, write)) return slot;
    oldest = slot;
  }
  return oldest;
}

void ResultBuffer::claimed(PreparedId id, bool late) {
  if (validator_ != nullptr) return validator_->validated(late);
  if (!id) return;
  const std::uint32_t slot = slot_of(id);
  entries_[slot].outcome.late = late != faults_.late && entries_[slot].outcome.fate == Fate::kUsed;
  report_outcome(slot);
}

// ---- Rules 4 and 5 (result_buffer.hpp)

bool ResultBuffer::discard(PreparedId id) {
  discard_old();
  const std::uint32_t slot = slot_of(id);
  if (slot == kNoSlot) return false;
  discard(slot, Fate::kTakenBack, queue_.now());
  return true;
}

void ResultBuffer::discard_thread(CoreId core) {
  discard_each(Fate::kThreadEnded,
               [&](const Prediction& prediction) { return prediction.core == core; });
}

void ResultBuffer::discard_range(Line first, Line end, Fate fate) {
  discard_each(fate, [&](const Prediction& prediction) {
    return prediction.line && *prediction.line >= first && *prediction.line < end;
  });
}

void ResultBuffer::discard_all() {
  discard_each(Fate::kRunEnded, [](const Prediction&) { return true; });
}

template <class Which>
void ResultBuffer::discard_each(Fate fate, const Which& which) {
  discard_old();
  for (std::uint32_t slot = by_age_.first(); slot != kNoSlot;) {
    const std::uint32_t next = entries_[slot].next;
    if (which(entries_[slot].prediction)) discard(slot, fate, queue_.now());
    slot = next;
  }
}

void ResultBuffer::discard_old() {
  while (!by_age_.empty()) {
    const std::uint32_t oldest = by_age_.first();
    const Time since = entries_[oldest].prepared;
    if (queue_.now() - since < size_.most_age) return;
    discard(oldest, Fate::kTooOld, since + size_.most_age);
  }
}

void ResultBuffer::discard(std::uint32_t slot, Fate fate, Time when) {
  const PreparedId id = entries_[slot].outcome.id;
  entries_[slot].outcome.fate = fate;
  entries_[slot].outcome.when = when;
  unlink(slot);
  for (WriteGate* const gate : gates_) gate->discard(id);
  report_outcome(slot);
}

void ResultBuffer::unlink(std::uint32_t slot) {
  by_age_.remove(entries_, slot);
  --taken_;
  if (stages_ != nullptr) log_occupancy();
  const Entry& entry = entries_[slot];
  if (!entry.prediction.line) return;
  std::uint32_t* const newest = newest_.find(*entry.prediction.line);
  std::uint32_t* link = newest;
  while (*link != slot) link = &entries_[*link].older;
  *link = entry.older;
  if (*newest == kNoSlot) newest_.erase(*entry.prediction.line);
}

void ResultBuffer::log_occupancy() const {
  stages_->add({.stage = Stage::kOccupancy,
                .detail = static_cast<std::uint8_t>(LoggedStructure::kPreparedResults),
                .id = taken_,
                .at = {queue_.now()}});
}

void ResultBuffer::log_prediction(const Entry& entry) const {
  stages_->add({.stage = Stage::kPrediction,
                .detail = static_cast<std::uint8_t>(entry.outcome.fate),
                .flag = entry.prediction.line.has_value(),
                .unit = entry.outcome.core,
                .line = entry.prediction.line.value_or(Line{}),
                .at = {entry.prepared, entry.outcome.when}});
}

void ResultBuffer::report_outcome(std::uint32_t slot) {
  if (stages_ != nullptr) log_prediction(entries_[slot]);
  const Outcome outcome = std::exchange(entries_[slot].outcome, {});
  entries_.release(slot);
  observer_->outcome(outcome);
}

}  // namespace pmemsim
