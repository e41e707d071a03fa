#include "pmemsim/designs/backend/backend.hpp"

#include <cassert>
#include <utility>

#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/backend/line_entries.hpp"
#include "pmemsim/designs/backend/schedule.hpp"

namespace pmemsim {
namespace {

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

// Returns the line's contents without writes that the backend holds.
LineData accepted_newest(const BackendParts& parts, const Memory& pm, Line line) {
  return parts.decode(line, pm.newest(parts.place(line)));
}

// Logs the arrival of a write. Returns the write with its identity in the log.
Write log_arrival(StageLog& stages, const Write& write, Time now) {
  Write logged = write;
  logged.logged = stages.new_id();
  stages.add({.stage = Stage::kIssue,
              .detail = static_cast<std::uint8_t>(write.kind),
              .unit = static_cast<std::uint32_t>(write.owner >> 32),
              .part = static_cast<std::uint32_t>(write.owner),
              .id = logged.logged,
              .line = write.line,
              .logged_line = write.home.number,
              .at = {now}});
  return logged;
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
      writes_(pm),
      reads_(queue, pm, parts_),
      held_(pm.pending_operations().size()) {
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
  if (stages_ != nullptr && write.logged == 0) {
    return this->write(log_arrival(*stages_, write, queue_.now()));
  }
  if (write.kind == WriteKind::kData && departures_.overtaken(write)) {
    parts_.stored(write.line, EntryNeed::kTogether);
    Write newest = write;
    newest.data = this->newest(write.line);
    // A new departure number would be wrong: newer data may have left the caches already.
    newest.departure = departures_.latest(write.line);
    return this->write(newest);
  }
  received_.count(write.kind, parts_.empty());
  return parts_.empty() ? pm_.write(write) : take(write, false);
}

WriteId Backend::write_reserved(const Write& write) {
  if (stages_ != nullptr && write.logged == 0) {
    return write_reserved(log_arrival(*stages_, write, queue_.now()));
  }
  const bool passes_by = parts_.empty() || faults_.reserved;
  received_.count(write.kind, passes_by);
  if (passes_by && !parts_.empty()) ++received_.bypassing_writes;
  return passes_by ? pm_.write_reserved(write) : take(write, true);
}

// Returns the line's write that this one coalesces with (rule 2); kNoSlot: none.
std::uint32_t Backend::coalescing_target(const Write& write) const {
  const std::uint32_t newest = writes_.newest(write.line);
  if (newest == kNoSlot || results_.expects(write.line)) return kNoSlot;
  const PassingWrite& older = writes_[newest];
  const bool at_work = older.state == State::kHeld && older.unfinished != 0 && !older.reserved;
  if (!at_work || older.write.kind != write.kind || older.write.owner != write.owner ||
      older.write.home != write.home) {
    return kNoSlot;
  }
  const bool may =
      std::ranges::all_of(gates_, [&](const WriteGate* gate) { return gate->may_coalesce(write); });
  return may ? newest : kNoSlot;
}

void Backend::coalesce(std::uint32_t slot, const Write& newer) {
  PassingWrite& passing = writes_[slot];
  acknowledgements_.add(passing.acknowledgements, passing.write.persisted, newer.persisted);
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

WriteId Backend::take(const Write& write, bool reserved) {
  if (const std::uint32_t older = reserved ? kNoSlot : coalescing_target(write); older != kNoSlot) {
    coalesce(older, write);
    return writes_.id_of(older);
  }
  const std::uint32_t slot = writes_.add(write, reserved);
  PassingWrite& passing = writes_[slot];
  if (write.bytes != kWholeLine) take_bytes(passing.write.data, newest(write.line), ~write.bytes);
  held_.add(bank_of(write.line), queue_.now());
  const WriteId id = writes_.id_of(slot);
  passing.prepared = results_.claim(passing.write);
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    const Completion done = completion<&Backend::gate_done>(*this, i << kGateShift | slot);
    if (!gates_[i]->write(passing.write, passing.prepared, done)) passing.unfinished |= bit(i);
  }
  results_.claimed(passing.prepared.id, passing.unfinished != 0);
  send_next(write.line.number, queue_.now());
  return id;
}

void Backend::gate_done(std::uint64_t slot_and_gate, Time now) {
  PassingWrite& passing = writes_[static_cast<std::uint32_t>(slot_and_gate)];
  passing.unfinished &= ~bit(slot_and_gate >> kGateShift);
  if (passing.unfinished > 0) return;
  if (faults_.order && passing.state == State::kHeld) {
    send(static_cast<std::uint32_t>(slot_and_gate));
  } else {
    send_next(passing.write.line.number, now);
  }
}

// Implements rule 2 (backend.hpp).
void Backend::send_next(std::uint64_t line, Time) {
  for (;;) {
    const std::uint32_t next = writes_.oldest_unaccepted({line});
    if (next == kNoSlot || writes_[next].state != State::kHeld || writes_[next].unfinished != 0) {
      return;
    }
    send(next);
  }
}

// Implements rules 3 and 6 (backend.hpp).
void Backend::send(std::uint32_t slot) {
  PassingWrite& passing = writes_[slot];
  Encoded encoded = encode(passing);
  if (!encoded.metadata.empty()) {
    passing.state = State::kAwaitsEntries;
    awaiting_entries_.push_back({.write = writes_.id_of(slot)});
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
Encoded Backend::encode(PassingWrite& passing) const {
  Write& write = passing.write;
  if (write.bytes != kWholeLine) {
    const LineData before = write.data;
    take_bytes(write.data, accepted_newest(parts_, pm_, write.line), ~write.bytes);
    if (write.data != before) passing.prepared.data.reset();
  }
  if (!passing.prepared.data) return parts_.encode(write, passing.prepared, passing.order);
  Write predicted = write;
  predicted.data = *passing.prepared.data;
  return parts_.encode(predicted, passing.prepared, passing.order);
}

void Backend::mark_sent(PassingWrite& passing, Encoded encoded) {
  if (stages_ != nullptr) {
    stages_->add({.stage = Stage::kEncode,
                  .flag = encoded.duplicate,
                  .id = passing.write.logged,
                  .at = {queue_.now()}});
  }
  held_.remove(bank_of(passing.write.line), queue_.now());
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
void Backend::discard_prepared(PassingWrite& passing) {
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
  for (std::uint32_t slot = writes_.newest(line); slot != kNoSlot && writes_[slot].is_held();
       slot = writes_[slot].older) {
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

void Backend::profile(RequestStages* stages) {
  waits_ = stages;
  held_.profile(stages);
  reads_.profile(stages);
}

void Backend::observe(WriteObserver* observer) const {
  for (WriteGate* const gate : gates_) gate->observe(observer);
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
    if (waiting.is_entries ? send_entries(waiting) : send_write(waiting)) {
      if (waits_ != nullptr && !waiting.is_entries) waits_->await_entry(-1, queue_.now());
      continue;
    }
    awaiting_entries_.push_front(waiting);
    pm_.await_any_free_entry(completion<&Backend::send_with_metadata>(*this));
    return;
  }
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

// Implements rules 3 and 8 (backend.hpp): if PM already has the data, the first metadata write
// carries the completions of the data write.
bool Backend::send_write(const Waiting& waiting) {
  const std::uint32_t slot = writes_.slot_of(waiting.write);
  if (slot == kNoSlot) return true;
  PassingWrite& passing = writes_[slot];
  passing.encoded = encode(passing);
  std::vector<Write> writes;
  if (!passing.encoded.duplicate) writes.push_back(as_sent(slot));
  for (const Encoded::Metadata& metadata : passing.encoded.metadata) {
    writes.push_back(as_metadata(metadata));
  }
  if (passing.encoded.duplicate) {
    const Write sent = as_sent(slot);
    writes.front().persisted = sent.persisted;
    writes.front().persisting = sent.persisting;
    writes.front().written = sent.written;
  }
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
  PassingWrite& passing = writes_[slot];
  if (passing.is_held()) mark_sent(passing, Encoded(passing.encoded));
  passing.state = State::kAccepted;
  if (passing.write.persisting) passing.write.persisting(now);
  for (const PassingWrite::Coalesced& coalesced : passing.coalesced) {
    if (coalesced.persisting) coalesced.persisting(now);
  }
  within_step_ = true;
  if (!faults_.registers) {
    parts_.accepted(passing.write, passing.encoded);
    parts_.schedule_accepted(passing.write, passing.encoded);
  }
  within_step_ = false;
  if (writes_.newest(passing.write.line) == slot) return;
  queue_.schedule(now, Phase::kController,
                  completion<&Backend::send_next>(*this, passing.write.line.number));
}

void Backend::written(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const PassingWrite& passing = writes_[slot];
  within_step_ = true;
  parts_.written(passing.write, passing.encoded);
  within_step_ = false;
  for (std::uint32_t older = passing.older; older != kNoSlot; older = writes_[older].older) {
    writes_[older].overwritten = true;
  }
  std::vector<PassingWrite::Coalesced> all = passing.coalesced;
  all.push_back({.persisting = {}, .written = passing.write.written});
  writes_.remove(slot);
  for (const PassingWrite::Coalesced& one : all) {
    if (one.written) one.written(now);
  }
}

// ---- Finding and dropping

bool Backend::find(Line line, WriteKind kind, WriteId& id) const {
  if (parts_.empty()) return pm_.find(line, kind, id);
  for (std::uint32_t slot = writes_.newest(line); slot != kNoSlot; slot = writes_[slot].older) {
    if (writes_[slot].write.kind != kind || !writes_.droppable(writes_[slot])) continue;
    id = writes_.id_of(slot);
    return true;
  }
  return false;
}

const Write* Backend::pending(WriteId id) const {
  if (parts_.empty()) return pm_.pending(id);
  const std::uint32_t slot = writes_.slot_of(id);
  return slot != kNoSlot && writes_.droppable(writes_[slot]) ? &writes_[slot].write : nullptr;
}

bool Backend::drop(WriteId id) {
  if (parts_.empty()) {
    const bool dropped = pm_.drop(id);
    received_.dropped_in_queue += dropped;
    return dropped;
  }
  const std::uint32_t slot = writes_.slot_of(id);
  if (slot == kNoSlot) return false;
  const PassingWrite& passing = writes_[slot];
  const Line line = passing.write.line;
  if (!writes_.droppable(passing)) return false;
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
    held_.remove(bank_of(passing.write.line), queue_.now());
    acknowledgements_.forget(passing.acknowledgements);
    const bool reserved = passing.reserved;
    writes_.remove(slot);
    if (reserved) pm_.release(channel_of(line));
  } else {
    const WriteId in_queue = passing.in_queue;
    dropped_from_queue(line, in_queue);
    ++received_.dropped_in_queue;
    pm_.drop(in_queue);
  }
  send_next(line.number, queue_.now());
  return true;
}

// Notifies the operations before the queue drops the write, because their state changes in the same
// step. All writes that have merged with the dropped write are dropped, too.
void Backend::dropped_from_queue(Line line, WriteId in_queue) {
  for (std::uint32_t slot = writes_.newest(line); slot != kNoSlot;) {
    const PassingWrite& passing = writes_[slot];
    const std::uint32_t older = passing.older;
    if (!passing.is_held() && passing.in_queue == in_queue) {
      parts_.dropped(passing.write, passing.encoded, passing.state == State::kAccepted);
      if (passing.state != State::kAccepted) acknowledgements_.forget(passing.acknowledgements);
      writes_.remove(slot);
    }
    slot = older;
  }
}

LineData Backend::newest(Line line) const {
  Write all = writes_.unaccepted(line);
  if (all.bytes != kWholeLine) take_bytes(all.data, accepted_newest(parts_, pm_, line), ~all.bytes);
  return all.data;
}

LineData Backend::surviving(Line line) const {
  return parts_.decode(line, pm_.surviving(parts_.place(line)));
}

std::span<const std::uint32_t> Backend::pending_operations() const {
  return held_.added_to(pm_.pending_operations());
}

// ---- Reads

void Backend::read(Line line, Completion done) {
  ++received_.reads;
  if (parts_.empty()) return pm_.read(line, done);
  if (writes_.hold_whole(line)) {
    ++received_.forwarded_reads;
    queue_.schedule(queue_.now() + forward_latency_, Phase::kController, done);
    return;
  }
  reads_.read(line, done);
}

// ---- Statistics

void Backend::statistics(StatisticsCollector& collector) const {
  collector.group("received", received_);
  parts_.statistics(collector);
}

std::string Backend::pending() const {
  std::vector<std::string> all = parts_.pending();
  if (held_.count() > 0) {
    all.insert(all.begin(),
               std::to_string(held_.count()) + " writes are held by the backend" +
                   (awaiting_entries_.empty() ? ""
                                              : ", which has too few free entries for a write "
                                                "and its metadata"));
  }
  return sentences(all.size(), [&](std::size_t i) { return all[i]; });
}

}  // namespace pmemsim
