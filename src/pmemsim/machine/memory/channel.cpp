// The queues of a channel (channel.hpp). They hold reads and writes until the scheduler
// (channel_scheduler.cpp) issues them to a bank. They keep a request until its bank has finished
// and its completions have been called. This file implements rules 5 to 9.
#include "pmemsim/machine/memory/channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace pmemsim {

namespace {

constexpr unsigned kSlotBits = 24;  // lower bits of a WriteId's number; the upper ones: order

std::uint32_t part(Ratio ratio, std::uint32_t whole) {
  return static_cast<std::uint32_t>(ratio.value * whole);
}

}  // namespace

Channel::Entries::Entries(std::uint32_t entries, const MemoryParameters& p)
    : count(entries), high_watermark(part(p.write_high_watermark, entries)) {}

Channel::Channel(EventQueue& queue, const MemoryParameters& p, LinkPair& link, Image* device,
                 std::span<std::uint32_t> operations)
    : queue_(queue),
      link_(link),
      device_(device),
      operations_(operations),
      timing_(p),
      read_entries_(p.read_queue_entries),
      low_watermark_(part(p.write_low_watermark, p.wpq_entries)),
      min_writes_(p.min_writes_per_switch),
      drains_when_idle_(p.idle_writes == IdleWrites::kDrain),
      max_accesses_per_row_(p.max_accesses_per_row),
      persistence_(p.persistence),
      merging_(p.write_merging),
      faults_(p.faults),
      queues_in_device_(p.queue_place == QueuePlace::kDevice),
      front_latency_(p.front_latency),
      answer_latency_(p.front_latency + p.back_latency),
      acknowledge_latency_((faults_.acknowledgement ? Picoseconds{0} : p.front_latency) +
                           (queues_in_device_ ? p.link_latency : Picoseconds{0})),
      link_to_bank_(queues_in_device_ ? Picoseconds{0} : p.link_latency),
      read_queue_(reads_, p.banks()),
      write_queue_(writes_, p.banks()),
      wpq_(p.wpq_entries, p),
      log_queue_(p.log_queue_entries, p),
      lines_(std::bit_ceil((std::size_t{p.wpq_entries} + p.log_queue_entries) * 4), kNoSlot),
      banks_(p.banks()),
      ranks_(p.ranks),
      bus_(p.tburst),
      internal_(p) {
  for (std::uint32_t bank = 0; bank < banks_.size(); ++bank) {
    banks_[bank].rank = bank / p.banks_per_rank;
  }
  if (timing_.refi > Picoseconds{0}) next_refresh_ = Time{} + timing_.refi;
}

// --- Reads ---------------------------------------------------------------------------------------

void Channel::read(Line line, const DeviceLocation& location, Completion done) {
  const std::uint32_t slot = reads_.take();
  Read& read = reads_[slot];
  read.row = location.row;
  read.bank = location.bank;
  read.line = line;
  read.done = done;
  read.arrived = queue_.now();
  most_reads_ = std::max(most_reads_, ++reads_under_way_);
  ++statistics_.reads;
  ++operations_[location.bank];
  if (queues_in_device_) {
    queue_.schedule(queue_.now() + link_.to_device.latency(), Phase::kController,
                    completion<&Channel::read_arrived>(*this, slot));
  } else {
    read_arrived(slot, queue_.now());
  }
}

void Channel::read_arrived(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  Read& read = reads_[slot];
  read.order = ++last_arrival_;
  if (whole_line_waits(read.line)) {
    // The controller's front end answers, without bank or back end, as in gem5.
    ++statistics_.reads_forwarded;
    ++reads_held_;
    const Time sent = queues_in_device_ ? link_.to_host.send_line(now) : now;
    queue_.schedule(sent + front_latency_, Phase::kController,
                    completion<&Channel::read_answered>(*this, slot));
  } else if (reads_held_ >= read_entries_) {
    waiting_reads_.push_back(reads_, slot);
  } else {
    enter_read_queue(slot, now);
  }
}

// Implements rule 9. The search stops at a write that a bank has taken: all older writes of the
// line are in their banks, too.
bool Channel::whole_line_waits(Line line) const {
  ByteMask found = 0;
  for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot && found != kWholeLine;
       slot = writes_[slot].same_bucket) {
    if (writes_[slot].write.line != line) continue;
    if (!waits(writes_[slot].state)) return false;
    found |= writes_[slot].write.bytes;
  }
  return found == kWholeLine;
}

void Channel::enter_read_queue(std::uint32_t slot, Time now) {
  ++reads_held_;
  const std::uint32_t bank = reads_[slot].bank;
  read_queue_.push(slot, banks_[bank].open_row);
  consider_waking(read_queue_, slot, true, now);
}

void Channel::read_answered(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Read& read = reads_[slot];
  const Completion done = read.done;
  statistics_.read_time += now - read.arrived;
  --operations_[read.bank];
  --reads_under_way_;
  --reads_held_;
  reads_.release(slot);
  if (!waiting_reads_.empty() && reads_held_ < read_entries_) {
    const std::uint32_t next = waiting_reads_.first();
    waiting_reads_.remove(reads_, next);
    enter_read_queue(next, now);
  }
  if (done) done(now);
}

// --- Writes, the WPQ and the log queue -----------------------------------------------------------

std::size_t Channel::bucket(Line line) const {
  return (line.number * 0x9E3779B97F4A7C15u >> 32) & (lines_.size() - 1);
}

std::uint64_t Channel::number_of(std::uint32_t slot) const {
  return writes_[slot].order << kSlotBits | slot;
}

std::uint32_t Channel::slot_of(std::uint64_t number) const {
  const auto slot = static_cast<std::uint32_t>(number & ((1u << kSlotBits) - 1));
  if (slot >= writes_.size() || writes_[slot].order != number >> kSlotBits) return kNoSlot;
  return slot;
}

std::uint64_t Channel::write(const Write& write, const DeviceLocation& location) {
  const Time now = queue_.now();
  ++statistics_.writes[static_cast<std::size_t>(write.kind)];
  if (!queues_in_device_ && entries_for(write).waiting.empty()) {
    const std::uint32_t with = merge_candidate(write);
    if (with != kNoSlot) {
      merge(with, write, now);
      return number_of(with);
    }
  }
  return new_write(write, location, false);
}

std::uint64_t Channel::write_reserved(const Write& write, const DeviceLocation& location) {
  assert(reserved_ > 0);
  ++statistics_.writes[static_cast<std::size_t>(write.kind)];
  return new_write(write, location, true);
}

std::uint32_t Channel::take_slot(const Write& write, const DeviceLocation& location) {
  const std::uint32_t slot = writes_.take();
  PendingWrite& pending = writes_[slot];
  pending.row = location.row;
  pending.bank = location.bank;
  pending.order = ++last_arrival_;
  pending.write = write;
  pending.state = WriteState::kTravelling;
  pending.reserved = pending.log_queued = pending.is_accepted = false;
  pending.arrived = queue_.now();
  pending.same_bucket = std::exchange(lines_[bucket(write.line)], slot);
  most_writes_ = std::max(most_writes_, ++writes_under_way_);
  ++operations_[location.bank];
  return slot;
}

std::uint64_t Channel::new_write(const Write& write, const DeviceLocation& location,
                                 bool reserved) {
  const std::uint32_t slot = take_slot(write, location);
  writes_[slot].reserved = reserved;
  writes_[slot].log_queued = !reserved && &entries_for(write) == &log_queue_;
  const std::uint64_t number = number_of(slot);
  if (queues_in_device_) {
    queue_.schedule(link_.to_device.send_line(queue_.now()), Phase::kController,
                    completion<&Channel::write_arrived>(*this, slot));
  } else {
    write_arrived(slot, queue_.now());
  }
  return number;
}

std::uint64_t Channel::write_now(const Write& write, const DeviceLocation& location, bool reserved,
                                 bool more_follow) {
  assert(!queues_in_device_ && &entries_for(write) == &wpq_);
  const Time now = queue_.now();
  ++statistics_.writes[static_cast<std::size_t>(write.kind)];
  more_follow_ = more_follow;
  std::uint32_t slot = merge_candidate(write);
  if (slot != kNoSlot) {
    merge(slot, write, now);
    if (reserved) release();
  } else {
    slot = take_slot(write, location);
    if (reserved) {
      --reserved_;
    } else {
      hold_entry(wpq_, now);
    }
    accept(slot, now);
  }
  more_follow_ = false;
  return number_of(slot);
}

void Channel::write_arrived(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  if (writes_[slot].state == WriteState::kDropped) {
    --writes_under_way_;
    writes_.release(slot);
    return;
  }
  if (writes_[slot].reserved) {
    accept_reserved(slot, now);
    return;
  }
  writes_[slot].state = WriteState::kWaiting;
  Entries& entries = entries_of(writes_[slot]);
  entries.waiting.push_back(writes_, slot);
  count_awaiting(1);
  accept_waiting(entries, now);
}

// Implements rule 7.
Channel::Entries& Channel::entries_for(const Write& write) {
  const bool log = write.kind == WriteKind::kLog || write.kind == WriteKind::kLogHeader;
  return log && log_queue_.count > 0 ? log_queue_ : wpq_;
}

void Channel::accept_waiting(Entries& entries, Time now) {
  while (!entries.waiting.empty()) {
    const std::uint32_t slot = entries.waiting.first();
    const std::uint32_t with = merge_candidate(writes_[slot].write);
    if (with == kNoSlot && entries.full()) return;
    entries.waiting.remove(writes_, slot);
    count_awaiting(-1);
    statistics_.acceptance_time += now - writes_[slot].arrived;
    if (with != kNoSlot) {
      merge(with, writes_[slot].write, now);
      forget(slot);
    } else {
      hold_entry(entries, now);
      accept(slot, now);
    }
  }
  request_admission(now);
}

// Implements rule 8.
void Channel::accept_reserved(std::uint32_t slot, Time now) {
  const Line line = writes_[slot].write.line;
  --reserved_;
  add_waiting_bytes(slot);
  const std::uint32_t with = merge_candidate(writes_[slot].write);
  if (with == kNoSlot) {
    accept(slot, now);
    merge_waiting(line, slot, now);
  } else {
    merge(with, writes_[slot].write, now);
    forget(slot);
    merge_waiting(line, with, now);
    free_entry(wpq_, now);
  }
}

// Adds bytes of waiting writes of the same line. They are older than this write, and are accepted
// together with it.
void Channel::add_waiting_bytes(std::uint32_t slot) {
  Write& write = writes_[slot].write;
  for (std::uint32_t other = lines_[bucket(write.line)];
       other != kNoSlot && write.bytes != kWholeLine; other = writes_[other].same_bucket) {
    const PendingWrite& waiting = writes_[other];
    if (waiting.write.line == write.line && waiting.state == WriteState::kWaiting) {
      write.add_older(waiting.write);
    }
  }
}

// Merges the waiting writes of the line into the accepted write, which is newer than they are.
void Channel::merge_waiting(Line line, std::uint32_t with, Time now) {
  for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot;) {
    const PendingWrite& waiting = writes_[slot];
    const std::uint32_t next = waiting.same_bucket;
    if (waiting.write.line == line && waiting.state == WriteState::kWaiting) {
      statistics_.acceptance_time += now - waiting.arrived;
      entries_of(waiting).waiting.remove(writes_, slot);
      count_awaiting(-1);
      record_merged(with, waiting.write, now);
      forget(slot);
    }
    slot = next;
  }
  request_admission(now);
}

bool Channel::writes_wait() const {
  return !wpq_.waiting.empty() || (queues_in_device_ && link_.to_device.free_at() > queue_.now());
}

void Channel::await_admission(Completion admitted) {
  admissions_.push_back(admitted);
  request_admission(queue_.now());
}

// Schedules admit() if callers are waiting and no write waits for an entry.
void Channel::request_admission(Time now) {
  if (admissions_.empty() || admission_requested_ || !wpq_.waiting.empty()) return;
  admission_requested_ = true;
  const Time free = queues_in_device_ ? max(now, link_.to_device.free_at()) : now;
  queue_.schedule(free, Phase::kController, completion<&Channel::admit>(*this));
}

void Channel::admit(std::uint64_t, Time now) {
  admission_requested_ = false;
  while (!admissions_.empty() && !writes_wait()) {
    const Completion admitted = admissions_.front();
    admissions_.pop_front();
    admitted(now);
  }
  request_admission(now);
}

bool Channel::can_reserve(std::uint32_t entries) const {
  return wpq_.held + entries <= wpq_.count && wpq_.waiting.empty() &&
         reserved_ + entries + unreservable_ <= wpq_.count;
}

void Channel::await_entry(Completion free) {
  awaiting_.push_back(free);
  count_awaiting(1);
  if (write_queue_.size() > 0) request_wake(queue_.now());
}

void Channel::await_any_free_entry(Completion freed) {
  any_entry_freed_ = freed;
  if (write_queue_.size() > 0) request_wake(queue_.now());
}

bool Channel::reserve() {
  if (!can_reserve(1)) return false;
  ++reserved_;
  hold_entry(wpq_, queue_.now());
  if (write_queue_.size() > 0 && writes_wanted()) request_wake(queue_.now());
  return true;
}

void Channel::release() {
  assert(reserved_ > 0);
  --reserved_;
  free_entry(wpq_, queue_.now());
}

void Channel::hold_entry(Entries& entries, Time now) {
  entries.passed(now);
  if (++entries.held == entries.count) entries.full_since = now;
  entries.most_held = std::max(entries.most_held, entries.held);
  log_occupancy(entries, now);
}

// Frees an entry. The oldest waiting writes are accepted into it.
void Channel::free_entry(Entries& entries, Time now) {
  if (entries.full()) entries.full_time += now - entries.full_since;
  entries.passed(now);
  --entries.held;
  log_occupancy(entries, now);
  if (any_entry_freed_) std::exchange(any_entry_freed_, {})(now);
  accept_waiting(entries, now);
  if (awaiting_.empty() || !can_reserve(1)) return;
  for (const Completion& free : awaiting_) queue_.schedule(now, Phase::kController, free);
  count_awaiting(-static_cast<std::int64_t>(awaiting_.size()));
  awaiting_.clear();
}

void Channel::add_occupancy(const Entries& entries, Time now) {
  const LoggedStructure queue =
      &entries == &wpq_ ? LoggedStructure::kWpq : LoggedStructure::kLogQueue;
  stages_->add({.stage = Stage::kOccupancy,
                .detail = static_cast<std::uint8_t>(queue),
                .unit = number_,
                .id = entries.held,
                .at = {now}});
}

void Channel::log_merge(const Write& write, const Write& with, Time now) {
  stages_->add({.stage = Stage::kMerge,
                .flag = true,
                .id = write.logged,
                .merged_into = with.logged,
                .at = {now}});
}

// Moves the write into its queue, which has an entry for it.
void Channel::accept(std::uint32_t slot, Time now) {
  PendingWrite& pending = writes_[slot];
  pending.state = WriteState::kQueued;
  pending.accepted = now;
  pending.merged = kNoSlot;
  pending.accepted_previous = newest_accepted_;
  pending.accepted_next = kNoSlot;
  pending.is_accepted = true;
  (newest_accepted_ == kNoSlot ? oldest_accepted_ : writes_[newest_accepted_].accepted_next) = slot;
  newest_accepted_ = slot;
  write_queue_.push(slot, banks_[pending.bank].open_row);
  pending.persistent = persistence_ == PersistencePoint::kAccepted && !pending.log_queued;
  if (pending.persistent) persist(pending.write, PersistencePoint::kAccepted, now);
  consider_waking(write_queue_, slot, false, now);
}

// Implements rule 6: returns the newest accepted write of the line if the given write may merge
// with it.
std::uint32_t Channel::merge_candidate(const Write& write) const {
  if (!merging_) return kNoSlot;
  std::uint32_t slot = lines_[bucket(write.line)];
  while (slot != kNoSlot &&
         (writes_[slot].write.line != write.line || writes_[slot].state < WriteState::kQueued)) {
    slot = writes_[slot].same_bucket;
  }
  if (slot == kNoSlot || writes_[slot].state != WriteState::kQueued) return kNoSlot;
  const Write& other = writes_[slot].write;
  return other.kind == write.kind && other.owner == write.owner ? slot : kNoSlot;
}

void Channel::merge(std::uint32_t with, const Write& write, Time now) {
  if (faults_.merge) {
    writes_[with].write.add_older(write);
  } else {
    writes_[with].write.add_newer(write);
  }
  record_merged(with, write, now);
  if (writes_[with].persistent) notify_observer(write, PersistencePoint::kAccepted, now);
}

// Records the completions of a merged write. They are called when the write with which it merged
// reaches the same points.
void Channel::record_merged(std::uint32_t with, const Write& write, Time now) {
  PendingWrite& pending = writes_[with];
  ++statistics_.writes_merged;
  if (stages_ != nullptr) log_merge(write, pending.write, now);
  Merged completions{write.persisted, write.written, write.persisting, pending.merged};
  if (pending.persistent) {
    if (write.persisting) write.persisting(now);
    acknowledge(write.persisted, now);
    completions.persisted = completions.persisting = {};
  }
  if (completions.persisted || completions.written || completions.persisting) {
    pending.merged = merged_.take();
    merged_[pending.merged] = completions;
  }
}

void Channel::persist(const Write& write, PersistencePoint reached, Time now) {
  if (write.persisting) write.persisting(now);
  notify_observer(write, reached, now);
  acknowledge(write.persisted, now);
}

void Channel::notify_observer(const Write& write, PersistencePoint reached, Time now) {
  if (observer_ == nullptr) return;
  if (more_follow_) {
    observer_->persisted_with_next(write);
  } else {
    observer_->persisted(write, reached, now);
  }
}

// Schedules the acknowledgement. It is never called from within write(), whose caller may not have
// the WriteId yet.
void Channel::acknowledge(const Completion& persisted, Time now) {
  if (persisted) queue_.schedule(now + acknowledge_latency_, Phase::kController, persisted);
}

void Channel::write_finished(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  PendingWrite& pending = writes_[slot];
  if (device_ != nullptr) {
    const ByteMask kept = faults_.device ? kWholeLine >> 1 : kWholeLine;
    device_->write(pending.write.line, pending.write.data, pending.write.bytes & kept);
  }
  leave_accepted(slot);
  const bool late = !pending.persistent;
  if (!late && observer_ != nullptr) observer_->written(pending.write.line);
  for (std::uint32_t other = pending.merged; late && other != kNoSlot;
       other = merged_[other].next) {
    if (merged_[other].persisting) merged_[other].persisting(now);
  }
  if (late) persist(pending.write, PersistencePoint::kWritten, now);
  const Completion written = pending.write.written;
  std::uint32_t merged = std::exchange(pending.merged, kNoSlot);
  forget(slot);
  if (writes_under_way_ == 0) draining_ = false;
  if (written) written(now);
  while (merged != kNoSlot) {
    const Merged completions = merged_[merged];
    merged_.release(merged);
    merged = completions.next;
    if (late) acknowledge(completions.persisted, now);
    if (completions.written) completions.written(now);
  }
}

bool Channel::drop(std::uint64_t number) {
  const std::uint32_t slot = slot_of(number);
  if (slot == kNoSlot || !waits(writes_[slot].state)) return false;
  PendingWrite& pending = writes_[slot];
  const Time now = queue_.now();
  ++statistics_.writes_dropped;
  if (stages_ != nullptr) {
    const bool accepted = pending.state == WriteState::kQueued;
    stages_->add({.stage = Stage::kDrop,
                  .flag = true,
                  .id = pending.write.logged,
                  .at = {now, accepted ? pending.accepted : kNever,
                         accepted && pending.persistent ? pending.accepted : kNever}});
  }
  switch (pending.state) {
    case WriteState::kTravelling:
      pending.state = WriteState::kDropped;
      --operations_[pending.bank];
      unlink_line(slot);
      if (pending.reserved) release();
      break;
    case WriteState::kWaiting: {
      Entries& entries = entries_of(pending);
      entries.waiting.remove(writes_, slot);
      count_awaiting(-1);
      forget(slot);
      accept_waiting(entries, now);
      break;
    }
    default: {  // removed first, because the next write that uses the entry may read the line
      leave_accepted(slot);
      if (pending.persistent && observer_) observer_->dropped(pending.write, now);
      while (pending.merged != kNoSlot) {
        merged_.release(std::exchange(pending.merged, merged_[pending.merged].next));
      }
      write_queue_.remove(slot);
      Entries& entries = entries_of(pending);
      forget(slot);
      free_entry(entries, now);
    }
  }
  return true;
}

void Channel::leave_queue(std::uint32_t slot, Time now) {
  write_queue_.remove(slot);
  free_entry(entries_of(writes_[slot]), now);
}

void Channel::leave_accepted(std::uint32_t slot) {
  PendingWrite& pending = writes_[slot];
  pending.is_accepted = false;
  const std::uint32_t previous = pending.accepted_previous;
  const std::uint32_t next = pending.accepted_next;
  (previous == kNoSlot ? oldest_accepted_ : writes_[previous].accepted_next) = next;
  (next == kNoSlot ? newest_accepted_ : writes_[next].accepted_previous) = previous;
}

void Channel::forget(std::uint32_t slot) {
  unlink_line(slot);
  --operations_[writes_[slot].bank];
  --writes_under_way_;
  writes_.release(slot);
}

void Channel::unlink_line(std::uint32_t slot) {
  std::uint32_t* link = &lines_[bucket(writes_[slot].write.line)];
  while (*link != slot) link = &writes_[*link].same_bucket;
  *link = writes_[slot].same_bucket;
  writes_[slot].order = 0;  // invalidates its WriteId
}

bool Channel::find(Line line, WriteKind kind, std::uint64_t& number) const {
  for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot;
       slot = writes_[slot].same_bucket) {
    const PendingWrite& pending = writes_[slot];
    if (pending.write.line == line && pending.write.kind == kind && waits(pending.state)) {
      number = number_of(slot);
      return true;
    }
  }
  return false;
}

Write Channel::pending_of(Line line) const {
  Write all{.line = line, .data = {}, .persisted = {}, .written = {}, .bytes = 0};
  for (std::uint32_t slot = lines_[bucket(line)]; slot != kNoSlot;
       slot = writes_[slot].same_bucket) {
    if (writes_[slot].write.line == line) all.add_older(writes_[slot].write);
  }
  return all;
}

// The list of all accepted writes gives their order, but is long. It is only read if the line has
// several of them.
void Channel::apply_accepted(Line line, LineData& data) const {
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

const Write* Channel::pending(std::uint64_t number) const {
  const std::uint32_t slot = slot_of(number);
  return slot != kNoSlot && waits(writes_[slot].state) ? &writes_[slot].write : nullptr;
}

MemoryStatistics Channel::statistics() const {
  const auto full_time = [&](const Entries& entries) {
    return entries.full_time + (entries.count > 0 && entries.full()
                                    ? queue_.now() - entries.full_since
                                    : Picoseconds{0});
  };
  MemoryStatistics all = statistics_;
  all.wpq_full_time = full_time(wpq_);
  all.wpq_entry_time = wpq_.entry_time + (queue_.now() - wpq_.changed) * wpq_.held;
  all.most_wpq_entries = wpq_.most_held;
  all.log_queue_full_time = full_time(log_queue_);
  all.refresh_time = timing_.refi * static_cast<std::int64_t>(all.refreshes);
  all.channel_time = queue_.now().since_start();
  all.most_reads = most_reads_;
  all.most_writes = most_writes_;
  all.queue_entries = std::uint64_t{wpq_.count} + log_queue_.count;
  all.burst = timing_.burst;
  all.row_accesses = timing_.independent_banks ? 0 : all.lines_read + all.all_lines_written();
  all.media_lines_read = internal_.media_lines_read();
  all.media_lines_written = internal_.media_lines_written();
  all.media_bytes_read = all.media_lines_read * internal_.line_bytes();
  all.media_bytes_written = all.media_lines_written * internal_.line_bytes();
  all.migrations = internal_.migrations();
  all.most_line_writes = internal_.present() ? internal_.most_line_writes() : written_.most();
  return all;
}

void Channel::drain() {
  if (writes_under_way_ == 0) return;
  draining_ = true;
  request_wake(queue_.now());
}

std::string Channel::describe_pending() const {
  return fmt::format(
      "{} reads ({} wait for a bank), {} writes ({} in the WPQ of {} entries{}{})",
      reads_under_way_, read_queue_.size(), writes_under_way_, wpq_.held - reserved_, wpq_.count,
      reserved_ > 0 ? fmt::format(", {} of them reserved", reserved_) : "",
      log_queue_.count > 0
          ? fmt::format("; {} in the log queue of {}", log_queue_.held, log_queue_.count)
          : "");
}

}  // namespace pmemsim
