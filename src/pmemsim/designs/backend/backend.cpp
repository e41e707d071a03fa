#include "pmemsim/designs/backend/backend.hpp"

#include <cassert>
#include <utility>

#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/backend/line_entries.hpp"
#include "pmemsim/designs/backend/schedule.hpp"

namespace pmemsim {
namespace {

// WriteId::channel of the identities that the backend has assigned.
constexpr std::uint32_t kBackendChannel = UINT32_MAX - 1;
// Bits of the slot in a WriteId's number; the bits above are the order.
constexpr unsigned kSlotBits = 24;
// Bits of the slot in a completion's argument; the bits above are the gate.
constexpr unsigned kGateShift = 32;

constexpr std::uint64_t bit(std::size_t gate) { return std::uint64_t{1} << gate; }

Write as_metadata(const Encoded::Metadata& metadata) {
  return {.line = metadata.line,
          .kind = WriteKind::kMetadata,
          .data = metadata.data,
          .persisted = {},
          .written = {}};
}

}  // namespace

Backend::Backend(EventQueue& queue, Memory& pm, BackendParts parts, Picoseconds forward_latency,
                 const BackendFaults& faults)
    : queue_(queue),
      pm_(pm),
      parts_(std::move(parts)),
      forward_latency_(forward_latency),
      faults_(faults),
      results_(queue, gates_, !parts_.empty(), faults_),
      reads_(queue, pm, parts_),
      held_by_bank_(pm.pending_operations().size()) {
  std::uint32_t together = 1 + (parts_.entries != nullptr);
  const auto add_gate = [this](WriteGate* gate) {
    if (gate == nullptr) return;
    gates_.push_back(gate);
    keeps_outdated_ |= gate->keeps_outdated();
  };
  for (std::size_t i = 0; i < parts_.operations.size(); ++i) {
    BackendOperation& operation = *parts_.operations[i];
    operation.connect(queue, pm, *this);
    together += operation.traits().most_metadata;
    add_gate(operation.gate());
    if (parts_.entries != nullptr && i + 1 == parts_.before_entries) add_gate(parts_.entries.get());
  }
  if (parts_.entries != nullptr) parts_.entries->connect(queue, *this);
  if (parts_.schedule != nullptr) {
    parts_.schedule->connect(queue, *this);
    add_gate(parts_.schedule.get());
  }
  pm.set_largest_group(together);
}

Backend::~Backend() = default;

// ---- Writes

WriteId Backend::write(const Write& write) {
  if (stages_ != nullptr && write.logged == 0) return this->write(issue(write));
  if (write.kind == WriteKind::kData && overtaken(write)) {
    parts_.stored(write.line, EntryNeed::kTogether);
    Write newest = write;
    newest.data = this->newest(write.line);
    // A new departure number would be wrong: newer data may have left the caches already.
    newest.departure = *latest_departure_.find(write.line);
    return this->write(newest);
  }
  count(write, parts_.empty());
  return parts_.empty() ? pm_.write(write) : take(write, false);
}

// Logs the arrival of a write. Returns the write with its identity in the log.
Write Backend::issue(const Write& write) {
  Write logged = write;
  logged.logged = stages_->new_id();
  stages_->add({.stage = Stage::kIssue,
                .detail = static_cast<std::uint8_t>(write.kind),
                .unit = static_cast<std::uint32_t>(write.owner >> 32),
                .part = static_cast<std::uint32_t>(write.owner),
                .id = logged.logged,
                .line = write.line,
                .logged_line = write.home.number,
                .at = {queue_.now()}});
  return logged;
}

// `sent`: the write is sent to the queues at once.
void Backend::count(const Write& write, bool sent) {
  ++ReceivedStatistics::of(received_.writes, write.kind);
  if (sent) ++ReceivedStatistics::of(received_.sent, write.kind);
}

// Implements rule 6 (backend.hpp).
bool Backend::overtaken(const Write& write) {
  const std::uint64_t departure = write.departure != 0 ? write.departure : next_departure();
  std::uint64_t* last = latest_departure_.find(write.line);
  if (last == nullptr) last = &(latest_departure_.insert(write.line) = 0);
  if (departure < *last) return true;
  *last = departure;
  return false;
}

WriteId Backend::write_reserved(const Write& write) {
  if (stages_ != nullptr && write.logged == 0) return write_reserved(issue(write));
  const bool passes_by = parts_.empty() || faults_.reserved;
  count(write, passes_by);
  if (passes_by && !parts_.empty()) ++received_.bypassing_writes;
  return passes_by ? pm_.write_reserved(write) : take(write, true);
}

// Returns the line's write that this one coalesces with (rule 2); kNoSlot: none.
std::uint32_t Backend::coalescing_target(const Write& write) const {
  const std::uint32_t* const newest = newest_.find(write.line);
  if (newest == nullptr || results_.expects(write.line)) return kNoSlot;
  const Passing& older = writes_[*newest];
  const bool at_work = older.state == State::kHeld && older.unfinished != 0 && !older.reserved;
  if (!at_work || older.write.kind != write.kind || older.write.owner != write.owner ||
      older.write.home != write.home) {
    return kNoSlot;
  }
  const bool may =
      std::ranges::all_of(gates_, [&](const WriteGate* gate) { return gate->may_coalesce(write); });
  return may ? *newest : kNoSlot;
}

void Backend::coalesce(std::uint32_t slot, const Write& newer) {
  Passing& passing = writes_[slot];
  if (passing.acknowledgements == kNoSlot) {
    passing.acknowledgements = acknowledgements_.take();
    acknowledgements_[passing.acknowledgements] = {passing.write.persisted};
    passing.write.persisted = completion<&Backend::acknowledge>(*this, passing.acknowledgements);
  }
  acknowledgements_[passing.acknowledgements].push_back(newer.persisted);
  passing.coalesced.push_back({newer.persisting, newer.written});
  passing.write.add_newer(newer);
  passing.prepared.data.reset();
  ++received_.coalesced;
  if (stages_ != nullptr) {
    stages_->add({.stage = Stage::kMerge,
                  .id = newer.logged,
                  .merged_into = passing.write.logged,
                  .at = {queue_.now()}});
  }
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    gates_[i]->coalesced(passing.write,
                         completion<&Backend::gate_done>(*this, i << kGateShift | slot));
  }
}

// Drops the acknowledgements of a write that won't be persistent.
void Backend::forget_acknowledgements(const Passing& passing) {
  if (passing.acknowledgements != kNoSlot) acknowledgements_.release(passing.acknowledgements);
}

void Backend::acknowledge(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const std::vector<Completion> all = std::exchange(acknowledgements_[slot], {});
  acknowledgements_.release(slot);
  for (const Completion& persisted : all) {
    if (persisted) persisted(now);
  }
}

WriteId Backend::take(const Write& write, bool reserved) {
  if (const std::uint32_t older = reserved ? kNoSlot : coalescing_target(write); older != kNoSlot) {
    coalesce(older, write);
    return id_of(older);
  }
  const std::uint32_t slot = writes_.take();
  Passing& passing = writes_[slot];
  passing = {.write = write, .order = ++order_, .in_queue = {}, .encoded = {}};
  passing.reserved = reserved;
  if (write.bytes != kWholeLine) take_bytes(passing.write.data, newest(write.line), ~write.bytes);
  if (std::uint32_t* const newest = newest_.find(write.line)) {
    passing.older = std::exchange(*newest, slot);
  } else {
    newest_.insert(write.line) = slot;
  }
  ++held_;
  if (waits_ != nullptr) waits_->hold(1, queue_.now());
  ++held_by_bank_[bank_of(write.line)];
  const WriteId id = id_of(slot);
  passing.prepared = results_.claim(passing.write);
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    const Completion done = completion<&Backend::gate_done>(*this, i << kGateShift | slot);
    if (!gates_[i]->write(passing.write, passing.prepared, done)) passing.unfinished |= bit(i);
  }
  results_.claimed(passing.prepared.id, passing.unfinished != 0);
  send_next(write.line);
  return id;
}

void Backend::gate_done(std::uint64_t slot_and_gate, Time) {
  Passing& passing = writes_[static_cast<std::uint32_t>(slot_and_gate)];
  passing.unfinished &= ~bit(slot_and_gate >> kGateShift);
  if (passing.unfinished > 0) return;
  if (faults_.order && passing.state == State::kHeld) {
    send(static_cast<std::uint32_t>(slot_and_gate));
  } else {
    send_next(passing.write.line);
  }
}

// Implements rule 2 (backend.hpp).
void Backend::send_next(Line line) {
  while (const std::uint32_t* const newest = newest_.find(line)) {
    std::uint32_t next = kNoSlot;  // the oldest write that hasn't been accepted
    for (std::uint32_t slot = *newest; slot != kNoSlot; slot = writes_[slot].older) {
      if (writes_[slot].state != State::kAccepted) next = slot;
    }
    if (next == kNoSlot || writes_[next].state != State::kHeld || writes_[next].unfinished != 0) {
      return;
    }
    send(next);
  }
}

void Backend::send_next_later(std::uint64_t line, Time) { send_next({line}); }

// Implements rules 3 and 6 (backend.hpp).
void Backend::send(std::uint32_t slot) {
  Passing& passing = writes_[slot];
  Encoded encoded = encode(passing);
  if (!encoded.metadata.empty()) {
    passing.state = State::kAwaitsEntries;
    awaiting_entries_.push_back({.write = id_of(slot)});
    if (waits_ != nullptr) waits_->await_entry(1, queue_.now());
    if (awaiting_entries_.size() == 1) send_with_metadata(0, queue_.now());
    return;
  }
  mark_sent(passing, std::move(encoded));
  const Write write = as_sent(slot);
  const std::uint32_t home = channel_of(passing.write.line);
  const bool reserved_there = passing.reserved && channel_of(write.line) == home;
  if (passing.reserved && !reserved_there) pm_.release(home);
  const WriteId id = reserved_there ? pm_.write_reserved(write) : pm_.write(write);
  writes_[slot].in_queue = id;
}

// Implements rules 4 and 5 (backend.hpp).
Encoded Backend::encode(Passing& passing) const {
  Write& write = passing.write;
  if (write.bytes != kWholeLine) {
    const LineData before = write.data;
    take_bytes(write.data, accepted_newest(write.line), ~write.bytes);
    if (write.data != before) passing.prepared.data.reset();
  }
  if (!passing.prepared.data) return parts_.encode(write, passing.prepared, passing.order);
  Write predicted = write;
  predicted.data = *passing.prepared.data;
  return parts_.encode(predicted, passing.prepared, passing.order);
}

void Backend::mark_sent(Passing& passing, Encoded encoded) {
  if (stages_ != nullptr) {
    stages_->add({.stage = Stage::kEncode,
                  .flag = encoded.duplicate,
                  .id = passing.write.logged,
                  .at = {queue_.now()}});
  }
  remove_held(passing);
  if (encoded.duplicate) {
    ++received_.duplicates;
  } else {
    ++ReceivedStatistics::of(received_.sent, passing.write.kind);
  }
  passing.state = State::kSent;
  passing.was_partial = passing.write.bytes != kWholeLine;
  passing.write.bytes = kWholeLine;
  passing.encoded = std::move(encoded);
  parts_.sent(passing.write, passing.encoded);
  if (faults_.registers) {
    parts_.accepted(passing.write, passing.encoded);
    parts_.schedule_accepted(passing.write, passing.encoded);
  }
  discard_prepared(passing);
}

// Implements rule 5 (backend.hpp).
void Backend::discard_prepared(Passing& passing) {
  const PreparedId id = std::exchange(passing.prepared, {}).id;
  if (!id) return;
  for (WriteGate* const gate : gates_) gate->discard(id);
}

void Backend::metadata_changed(Line line) {
  if (faults_.metadata_changed) {
    results_.mark_counter_outdated(line);
    return;
  }
  if (!keeps_outdated_) results_.discard_range(line, {line.number + 1}, Fate::kMetadataChanged);
  const std::uint32_t* const newest = newest_.find(line);
  for (std::uint32_t slot = newest == nullptr ? kNoSlot : *newest;
       slot != kNoSlot && writes_[slot].is_held(); slot = writes_[slot].older) {
    discard_prepared(writes_[slot]);
  }
}

void Backend::write_metadata(Line line, const LineData& data, Completion persisted) {
  const Write write{.line = line,
                    .kind = WriteKind::kMetadata,
                    .data = data,
                    .persisted = persisted,
                    .written = {}};
  if (!within_step_) {
    pm_.write(write);
    return;
  }
  after_step_.push_back(write);
  queue_.schedule(queue_.now(), Phase::kController, completion<&Backend::write_after_step>(*this));
}

void Backend::write_after_step(std::uint64_t, Time) {
  for (const Write& write : std::exchange(after_step_, {})) pm_.write(write);
}

// Sends the line in a later step, because a queue may be the caller.
void Backend::write_back_entries(Line line, Completion persisting) {
  awaiting_entries_.push_back(
      {.write = {}, .entries = line, .is_entries = true, .persisting = persisting});
  if (awaiting_entries_.size() > 1) return;
  queue_.schedule(queue_.now(), Phase::kController,
                  completion<&Backend::send_with_metadata>(*this));
}

void Backend::log_stages(StageLog* stages) {
  stages_ = stages;
  results_.log_stages(stages);
  if (parts_.schedule != nullptr) parts_.schedule->log_stages(stages);
}

std::vector<std::string> Backend::sub_operation_names() const {
  return parts_.schedule != nullptr ? parts_.schedule->names() : std::vector<std::string>{};
}

void Backend::profile(RequestStages* stages) {
  waits_ = stages;
  reads_.profile(stages);
}

void Backend::observe(WriteObserver* observer) const {
  for (WriteGate* const gate : gates_) gate->observe(observer);
}

// Implements rule 8 (backend.hpp): the first metadata write carries the completions of the data
// write.
void Backend::complete_by_metadata(std::uint32_t slot, Write& metadata) {
  metadata.persisted = writes_[slot].write.persisted;
  metadata.persisting = completion<&Backend::accepted>(*this, slot);
  metadata.written = completion<&Backend::written>(*this, slot);
}

// Returns the write in the form in which the queues receive it.
Write Backend::as_sent(std::uint32_t slot) {
  Write write = writes_[slot].write;
  write.line = writes_[slot].encoded.place;
  write.data = writes_[slot].encoded.data;
  write.bytes = kWholeLine;
  write.persisting = completion<&Backend::accepted>(*this, slot);
  write.written = completion<&Backend::written>(*this, slot);
  return write;
}

// Sending may release queue entries and thus call this function again. A write that is being sent
// is therefore no longer in the list.
void Backend::send_with_metadata(std::uint64_t, Time) {
  while (!awaiting_entries_.empty()) {
    const Waiting waiting = awaiting_entries_.front();
    awaiting_entries_.pop_front();
    if (send_waiting(waiting)) {
      if (waits_ != nullptr && !waiting.is_entries) waits_->await_entry(-1, queue_.now());
      continue;
    }
    awaiting_entries_.push_front(waiting);
    pm_.await_any_free_entry(completion<&Backend::send_with_metadata>(*this));
    return;
  }
}

bool Backend::send_waiting(const Waiting& waiting) {
  if (waiting.is_entries) return send_entries(waiting);
  const std::uint32_t slot = slot_of(waiting.write);
  return slot == kNoSlot || send_together(slot);
}

bool Backend::send_entries(const Waiting& waiting) {
  std::vector<Write> writes;
  for (const Encoded::Metadata& metadata : parts_.entries->metadata(waiting.entries)) {
    writes.push_back(as_metadata(metadata));
  }
  writes.front().persisting = waiting.persisting;
  std::vector<WriteId> ids(writes.size());
  return pm_.write_together(writes, false, ids);
}

bool Backend::send_together(std::uint32_t slot) {
  Passing& passing = writes_[slot];
  passing.encoded = encode(passing);
  std::vector<Write> writes;
  if (!passing.encoded.duplicate) writes.push_back(as_sent(slot));
  for (const Encoded::Metadata& metadata : passing.encoded.metadata) {
    writes.push_back(as_metadata(metadata));
  }
  if (passing.encoded.duplicate) complete_by_metadata(slot, writes.front());
  const std::size_t lines = writes.size();
  if (faults_.metadata) {
    for (; writes.size() > 1; writes.pop_back()) pm_.write(writes.back());
  }
  if (faults_.data_first && !passing.encoded.duplicate) writes.resize(1);
  const std::uint32_t home = channel_of(passing.write.line);
  const bool reserved_there =
      passing.reserved && !passing.encoded.duplicate && channel_of(passing.encoded.place) == home;
  std::vector<WriteId> ids(writes.size());
  if (!pm_.write_together(writes, reserved_there, ids)) {
    if (faults_.metadata) received_.metadata_sent_again += lines - 1;
    return false;
  }
  writes_[slot].in_queue = ids.front();
  if (passing.reserved && !reserved_there) pm_.release(home);
  if (faults_.data_first) {
    const Encoded& encoded = writes_[slot].encoded;
    for (const Encoded::Metadata& metadata : encoded.metadata) {
      write_metadata(metadata.line, metadata.data, {});
    }
    if (encoded.duplicate) received_.metadata_sent_again += encoded.metadata.size();
  }
  return true;
}

// Called from within the queue. The next write of the line is therefore sent in a later step.
void Backend::accepted(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  Passing& passing = writes_[slot];
  if (passing.is_held()) mark_sent(passing, Encoded(passing.encoded));
  passing.state = State::kAccepted;
  if (passing.write.persisting) passing.write.persisting(now);
  for (const CoalescedWrite& coalesced : passing.coalesced) {
    if (coalesced.persisting) coalesced.persisting(now);
  }
  within_step_ = true;
  if (!faults_.registers) {
    parts_.accepted(passing.write, passing.encoded);
    parts_.schedule_accepted(passing.write, passing.encoded);
  }
  within_step_ = false;
  if (*newest_.find(passing.write.line) == slot) return;
  queue_.schedule(now, Phase::kController,
                  completion<&Backend::send_next_later>(*this, passing.write.line.number));
}

void Backend::written(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Passing& passing = writes_[slot];
  within_step_ = true;
  parts_.written(passing.write, passing.encoded);
  within_step_ = false;
  for (std::uint32_t older = passing.older; older != kNoSlot; older = writes_[older].older) {
    writes_[older].overwritten = true;
  }
  std::vector<CoalescedWrite> all = passing.coalesced;
  all.push_back({.persisting = {}, .written = passing.write.written});
  forget(slot);
  for (const CoalescedWrite& one : all) {
    if (one.written) one.written(now);
  }
}

void Backend::remove_held(const Passing& passing) {
  --held_;
  if (waits_ != nullptr) waits_->hold(-1, queue_.now());
  --held_by_bank_[bank_of(passing.write.line)];
}

void Backend::forget(std::uint32_t slot) {
  Passing& passing = writes_[slot];
  std::uint32_t* const newest = newest_.find(passing.write.line);
  std::uint32_t* link = newest;
  while (*link != slot) link = &writes_[*link].older;
  *link = passing.older;
  if (*newest == kNoSlot) newest_.erase(passing.write.line);
  passing.order = 0;
  writes_.release(slot);
}

// ---- Finding and dropping

WriteId Backend::id_of(std::uint32_t slot) const {
  return {kBackendChannel, writes_[slot].order << kSlotBits | slot};
}

std::uint32_t Backend::slot_of(WriteId id) const {
  if (id.channel != kBackendChannel) return kNoSlot;
  const auto slot = static_cast<std::uint32_t>(id.number & ((1u << kSlotBits) - 1));
  if (slot >= writes_.size() || writes_[slot].order != id.number >> kSlotBits) return kNoSlot;
  return slot;
}

bool Backend::droppable(const Passing& passing) const {
  if (passing.is_held()) return true;
  if (passing.encoded.duplicate || passing.overwritten) return false;
  return pm_.pending(passing.in_queue) != nullptr && !needed_by_newer(passing);
}

// Implements rules 4 and 8 (backend.hpp). Writes that have merged are dropped together.
bool Backend::needed_by_newer(const Passing& passing) const {
  std::uint32_t slot = *newest_.find(passing.write.line);
  for (; &writes_[slot] != &passing; slot = writes_[slot].older) {
    const Passing& newer = writes_[slot];
    if (newer.was_partial && newer.in_queue != passing.in_queue) return true;
    if (newer.encoded.duplicate && !newer.is_held()) return true;
  }
  return false;
}

bool Backend::find(Line line, WriteKind kind, WriteId& id) const {
  if (parts_.empty()) return pm_.find(line, kind, id);
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
  if (parts_.empty()) return pm_.pending(id);
  const std::uint32_t slot = slot_of(id);
  return slot != kNoSlot && droppable(writes_[slot]) ? &writes_[slot].write : nullptr;
}

bool Backend::drop(WriteId id) {
  if (parts_.empty()) {
    const bool dropped = pm_.drop(id);
    received_.dropped_in_queue += dropped;
    return dropped;
  }
  const std::uint32_t slot = slot_of(id);
  if (slot == kNoSlot) return false;
  const Passing& passing = writes_[slot];
  const Line line = passing.write.line;
  if (!droppable(passing)) return false;
  if (passing.is_held()) {
    ++received_.dropped_here;
    if (stages_ != nullptr) {
      stages_->add({.stage = Stage::kDrop, .id = passing.write.logged, .at = {queue_.now()}});
    }
    discard_prepared(writes_[slot]);
    for (std::size_t i = 0; i < gates_.size(); ++i) {
      if ((passing.unfinished & bit(i)) == 0) continue;
      gates_[i]->forget(completion<&Backend::gate_done>(*this, i << kGateShift | slot));
    }
    remove_held(passing);
    forget_acknowledgements(passing);
    const bool reserved = passing.reserved;
    forget(slot);
    if (reserved) pm_.release(channel_of(line));
  } else {
    const WriteId in_queue = passing.in_queue;
    dropped_from_queue(line, in_queue);
    ++received_.dropped_in_queue;
    pm_.drop(in_queue);
  }
  send_next(line);
  return true;
}

// Notifies the operations before the queue drops the write, because their state changes in the same
// step. All writes that have merged with the dropped write are dropped, too.
void Backend::dropped_from_queue(Line line, WriteId in_queue) {
  for (std::uint32_t slot = *newest_.find(line); slot != kNoSlot;) {
    const Passing& passing = writes_[slot];
    const std::uint32_t older = passing.older;
    if (!passing.is_held() && passing.in_queue == in_queue) {
      parts_.dropped(passing.write, passing.encoded, passing.state == State::kAccepted);
      if (passing.state != State::kAccepted) forget_acknowledgements(passing);
      forget(slot);
    }
    slot = older;
  }
}

LineData Backend::newest(Line line) const {
  Write all{.line = line, .data = {}, .persisted = {}, .written = {}, .bytes = 0};
  const std::uint32_t* const newest = newest_.find(line);
  for (std::uint32_t slot = newest == nullptr ? kNoSlot : *newest;
       slot != kNoSlot && writes_[slot].state != State::kAccepted; slot = writes_[slot].older) {
    all.add_older(writes_[slot].write);
  }
  if (all.bytes != kWholeLine) take_bytes(all.data, accepted_newest(line), ~all.bytes);
  return all.data;
}

// Returns the line's contents without writes that the backend holds.
LineData Backend::accepted_newest(Line line) const {
  return parts_.decode(line, pm_.newest(parts_.place(line)));
}

LineData Backend::surviving(Line line) const {
  return parts_.decode(line, pm_.surviving(parts_.place(line)));
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
  ++received_.reads;
  if (parts_.empty()) return pm_.read(line, done);
  if (holds_whole(line)) {
    ++received_.forwarded_reads;
    queue_.schedule(queue_.now() + forward_latency_, Phase::kController, done);
    return;
  }
  reads_.read(line, done);
}

// Implements rule 1 (backend.hpp).
bool Backend::holds_whole(Line line) const {
  ByteMask held = 0;
  const std::uint32_t* const newest = newest_.find(line);
  for (std::uint32_t slot = newest == nullptr ? kNoSlot : *newest;
       slot != kNoSlot && writes_[slot].is_held(); slot = writes_[slot].older) {
    held |= writes_[slot].write.bytes;
  }
  return held == kWholeLine;
}

// ---- Statistics

void Backend::statistics(StatisticsCollector& collector) const {
  collector.group("received", received_);
  parts_.statistics(collector);
}

std::string Backend::pending() const {
  std::vector<std::string> all = parts_.pending();
  if (held_ > 0) {
    all.insert(all.begin(),
               std::to_string(held_) + " writes are held by the backend" +
                   (awaiting_entries_.empty() ? ""
                                              : ", which has too few free entries for a write "
                                                "and its metadata"));
  }
  return sentences(all.size(), [&](std::size_t i) { return all[i]; });
}

}  // namespace pmemsim
