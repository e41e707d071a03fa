#include "pmemsim/designs/ordering/speculation_buffer.hpp"

#include <algorithm>

namespace pmemsim {

void SpeculationBuffer::expire(Time now) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.inserted + window_ <= now; });
}

SpeculationBuffer::Entry* SpeculationBuffer::find(Line line, Time now) {
  if (entries_.empty()) return nullptr;
  expire(now);
  const auto found =
      std::ranges::find_if(entries_, [line](const Entry& entry) { return entry.line == line; });
  return found == entries_.end() ? nullptr : &*found;
}

SpeculationBuffer::Entry& SpeculationBuffer::find_or_insert(Line line, Time now) {
  Entry* entry = find(line, now);
  if (entry == nullptr) entry = &entries_.emplace_back(Entry{.line = line});
  entry->inserted = now;
  return *entry;
}

void SpeculationBuffer::write_back(Line line, Time now) {
  if (parameters_.detection == Detection::kFetches) return;
  Entry& entry = find_or_insert(line, now);
  const bool forgets = parameters_.faults.second_write_back;
  if (entry.state == State::kInitial || forgets) entry.state = State::kEvict;
}

void SpeculationBuffer::read(Line line, bool stale, Time now) {
  Entry* entry = nullptr;
  if (parameters_.detection == Detection::kFetches) {
    entry = &find_or_insert(line, now);
  } else {
    entry = find(line, now);
    if (entry == nullptr || entry->state == State::kInitial) return;
  }
  entry->state = State::kSpeculated;
  entry->stale = entry->stale || stale;
}

std::optional<SpeculationBuffer::Misspeculation> SpeculationBuffer::persist(const Persist& persist,
                                                                            Time now) {
  Entry* entry = find(persist.line, now);
  if (entry == nullptr) {
    if (!persist.id || parameters_.allocation == Allocation::kWriteBacks) return {};
    entry = &find_or_insert(persist.line, now);
  }
  std::optional<Misspeculation> found = check_load(*entry);
  if (!found && parameters_.faults.early_store) entry->state = State::kInitial;
  if (!persist.id) return found;
  // Rule 2 (speculation_buffer.hpp).
  if (entry->id && is_older(*persist.id, *entry->id)) {
    return Misspeculation{.of_store = true, .false_alarm = (entry->bytes & persist.bytes) == 0};
  }
  entry->bytes = entry->id == persist.id ? entry->bytes | persist.bytes : persist.bytes;
  entry->id = persist.id;
  entry->inserted = now;
  return found;
}

// Rule 1 (speculation_buffer.hpp).
std::optional<SpeculationBuffer::Misspeculation> SpeculationBuffer::check_load(Entry& entry) {
  if (entry.state != State::kSpeculated) return {};
  const bool stale = entry.stale;
  entry.state = parameters_.detection == Detection::kFetches ? State::kInitial : State::kEvict;
  entry.stale = false;
  return Misspeculation{.of_store = false, .false_alarm = !stale};
}

bool SpeculationBuffer::overflows(Time now) {
  if (entries_.size() <= parameters_.buffer_entries) return false;
  expire(now);
  return entries_.size() > parameters_.buffer_entries;
}

Time SpeculationBuffer::next_expiry() const {
  return std::ranges::min(entries_, {}, &Entry::inserted).inserted + window_;
}

}  // namespace pmemsim
