// The queues of a channel (channel.hpp). They hold reads and writes until the scheduler
// (channel_scheduler.cpp) issues them to a bank. They keep a request until its bank has finished
// and its completions have been called. This file implements rules 5 to 9.
#include "pmemsim/machine/memory/channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace pmemsim {

namespace {

LoggedStructure structure(const WriteEntries& entries, const WriteQueues& queues) {
  return &entries == &queues.wpq ? LoggedStructure::kWpq : LoggedStructure::kLogQueue;
}

}  // namespace

Channel::Channel(EventQueue& queue, const MemoryParameters& p, LinkPair& link, Image* device,
                 std::span<std::uint32_t> operations)
    : queue_(queue),
      link_(link),
      device_(device),
      operations_(operations),
      timing_(p),
      read_entries_(p.read_queue_entries),
      low_watermark_(part_of(p.wpq_entries, p.write_low_watermark)),
      min_writes_(p.min_writes_per_switch),
      drains_when_idle_(p.idle_writes == IdleWrites::kDrain),
      persistence_(p.persistence),
      faults_(p.faults),
      queues_in_device_(p.queue_place == QueuePlace::kDevice),
      front_latency_(p.front_latency),
      answer_latency_(p.front_latency + p.back_latency),
      link_to_bank_(queues_in_device_ ? Picoseconds{0} : p.link_latency),
      writes_(p, operations),
      read_queue_(reads_, p.banks()),
      write_queue_(writes_.slots(), p.banks()),
      queues_(p),
      admissions_(queue, p, queues_.wpq, link.to_device),
      notices_(queue, (faults_.acknowledgement ? Picoseconds{0} : p.front_latency) +
                          (queues_in_device_ ? p.link_latency : Picoseconds{0})),
      banks_(p, timing_, read_queue_, write_queue_, statistics_),
      internal_(p) {}

// --- Reads ---------------------------------------------------------------------------------------

void Channel::read(Line line, const DeviceLocation& location, Completion done) {
  const std::uint32_t slot = reads_.take();
  PendingRead& read = reads_[slot];
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
  PendingRead& read = reads_[slot];
  read.order = ++last_arrival_;
  if (writes_.whole_line_waits(read.line)) {  // rule 9
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

void Channel::enter_read_queue(std::uint32_t slot, Time now) {
  ++reads_held_;
  const std::uint32_t bank = reads_[slot].bank;
  read_queue_.push(slot, banks_.open_row(bank));
  consider_waking(read_queue_, slot, true, now);
}

void Channel::read_answered(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const PendingRead& read = reads_[slot];
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

std::uint64_t Channel::write(const Write& write, const DeviceLocation& location) {
  const Time now = queue_.now();
  ++statistics_.writes[static_cast<std::size_t>(write.kind)];
  if (!queues_in_device_ && queues_.of(write.kind).waiting.empty()) {
    const std::uint32_t with = writes_.merge_candidate(write);
    if (with != kNoSlot) {
      merge(with, write, now);
      return writes_.number_of(with);
    }
  }
  return new_write(write, location, false);
}

std::uint64_t Channel::write_reserved(const Write& write, const DeviceLocation& location) {
  assert(reserved_ > 0);
  ++statistics_.writes[static_cast<std::size_t>(write.kind)];
  return new_write(write, location, true);
}

std::uint64_t Channel::new_write(const Write& write, const DeviceLocation& location,
                                 bool reserved) {
  const std::uint32_t slot = writes_.add(write, location, ++last_arrival_, queue_.now());
  writes_[slot].reserved = reserved;
  writes_[slot].log_queued = !reserved && &queues_.of(write.kind) == &queues_.log;
  const std::uint64_t number = writes_.number_of(slot);
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
  assert(!queues_in_device_ && &queues_.of(write.kind) == &queues_.wpq);
  const Time now = queue_.now();
  ++statistics_.writes[static_cast<std::size_t>(write.kind)];
  notices_.set_more_follow(more_follow);
  std::uint32_t slot = writes_.merge_candidate(write);
  if (slot != kNoSlot) {
    merge(slot, write, now);
    if (reserved) release();
  } else {
    slot = writes_.add(write, location, ++last_arrival_, queue_.now());
    if (reserved) {
      --reserved_;
    } else {
      hold_entry(queues_.wpq, now);
    }
    accept(slot, now);
  }
  notices_.set_more_follow(false);
  return writes_.number_of(slot);
}

void Channel::write_arrived(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  if (writes_[slot].state == WriteState::kDropped) {
    writes_.arrived_dropped(slot);
    return;
  }
  if (writes_[slot].reserved) {
    accept_reserved(slot, now);
    return;
  }
  writes_[slot].state = WriteState::kWaiting;
  WriteEntries& entries = queues_.of(writes_[slot]);
  entries.waiting.push_back(writes_.slots(), slot);
  count_awaiting(1);
  accept_waiting(entries, now);
}

void Channel::accept_waiting(WriteEntries& entries, Time now) {
  while (!entries.waiting.empty()) {
    const std::uint32_t slot = entries.waiting.first();
    const std::uint32_t with = writes_.merge_candidate(writes_[slot].write);
    if (with == kNoSlot && entries.full()) return;
    entries.waiting.remove(writes_.slots(), slot);
    count_awaiting(-1);
    statistics_.acceptance_time += now - writes_[slot].arrived;
    if (with != kNoSlot) {
      merge(with, writes_[slot].write, now);
      writes_.remove(slot);
    } else {
      hold_entry(entries, now);
      accept(slot, now);
    }
  }
  admissions_.admit_later(now);
}

// Implements rule 8.
void Channel::accept_reserved(std::uint32_t slot, Time now) {
  const Line line = writes_[slot].write.line;
  --reserved_;
  writes_.add_waiting_bytes(slot);
  const std::uint32_t with = writes_.merge_candidate(writes_[slot].write);
  if (with == kNoSlot) {
    accept(slot, now);
    merge_waiting(line, slot, now);
  } else {
    merge(with, writes_[slot].write, now);
    writes_.remove(slot);
    merge_waiting(line, with, now);
    free_entry(queues_.wpq, now);
  }
}

// Merges the waiting writes of the line into the accepted write, which is newer than they are.
void Channel::merge_waiting(Line line, std::uint32_t with, Time now) {
  writes_.for_each(line, [&](std::uint32_t slot) {
    const PendingWrite& waiting = writes_[slot];
    if (waiting.state != WriteState::kWaiting) return;
    statistics_.acceptance_time += now - waiting.arrived;
    queues_.of(waiting).waiting.remove(writes_.slots(), slot);
    count_awaiting(-1);
    record_merged(with, waiting.write, now);
    writes_.remove(slot);
  });
  admissions_.admit_later(now);
}

bool Channel::can_reserve(std::uint32_t entries) const {
  return queues_.wpq.held() + entries <= queues_.wpq.count && queues_.wpq.waiting.empty() &&
         reserved_ + entries + unreservable_ <= queues_.wpq.count;
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
  hold_entry(queues_.wpq, queue_.now());
  if (write_queue_.size() > 0 && writes_wanted()) request_wake(queue_.now());
  return true;
}

void Channel::release() {
  assert(reserved_ > 0);
  --reserved_;
  free_entry(queues_.wpq, queue_.now());
}

void Channel::hold_entry(WriteEntries& entries, Time now) {
  entries.hold(now);
  log_.occupancy(structure(entries, queues_), entries.held(), now);
}

// Frees an entry. The oldest waiting writes are accepted into it.
void Channel::free_entry(WriteEntries& entries, Time now) {
  entries.free(now);
  log_.occupancy(structure(entries, queues_), entries.held(), now);
  if (any_entry_freed_) std::exchange(any_entry_freed_, {})(now);
  accept_waiting(entries, now);
  if (awaiting_.empty() || !can_reserve(1)) return;
  for (const Completion& free : awaiting_) queue_.schedule(now, Phase::kController, free);
  count_awaiting(-static_cast<std::int64_t>(awaiting_.size()));
  awaiting_.clear();
}

// Moves the write into its queue, which has an entry for it.
void Channel::accept(std::uint32_t slot, Time now) {
  PendingWrite& pending = writes_[slot];
  pending.state = WriteState::kQueued;
  pending.accepted = now;
  pending.merged = kNoSlot;
  writes_.accepted(slot);
  write_queue_.push(slot, banks_.open_row(pending.bank));
  pending.persistent = persistence_ == PersistencePoint::kAccepted && !pending.log_queued;
  if (pending.persistent) notices_.persisted(pending.write, PersistencePoint::kAccepted, now);
  consider_waking(write_queue_, slot, false, now);
}

void Channel::merge(std::uint32_t with, const Write& write, Time now) {
  if (faults_.merge) {
    writes_[with].write.add_older(write);
  } else {
    writes_[with].write.add_newer(write);
  }
  record_merged(with, write, now);
  if (writes_[with].persistent) notices_.notify_observer(write, PersistencePoint::kAccepted, now);
}

// Records the completions of a merged write. They are called when the write with which it merged
// reaches the same points.
void Channel::record_merged(std::uint32_t with, const Write& write, Time now) {
  PendingWrite& pending = writes_[with];
  ++statistics_.writes_merged;
  log_.merge(write, pending.write, now);
  Merged completions{write.persisted, write.written, write.persisting, pending.merged};
  if (pending.persistent) {
    if (write.persisting) write.persisting(now);
    notices_.acknowledge(write.persisted, now);
    completions.persisted = completions.persisting = {};
  }
  if (completions.persisted || completions.written || completions.persisting) {
    pending.merged = merged_.take();
    merged_[pending.merged] = completions;
  }
}

void Channel::write_finished(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  PendingWrite& pending = writes_[slot];
  if (device_ != nullptr) {
    const ByteMask kept = faults_.device ? kWholeLine >> 1 : kWholeLine;
    device_->write(pending.write.line, pending.write.data, pending.write.bytes & kept);
  }
  writes_.leave_accepted(slot);
  const bool late = !pending.persistent;
  if (!late) notices_.written(pending.write.line);
  for (std::uint32_t other = pending.merged; late && other != kNoSlot;
       other = merged_[other].next) {
    if (merged_[other].persisting) merged_[other].persisting(now);
  }
  if (late) notices_.persisted(pending.write, PersistencePoint::kWritten, now);
  const Completion written = pending.write.written;
  std::uint32_t merged = std::exchange(pending.merged, kNoSlot);
  writes_.remove(slot);
  if (writes_.count() == 0) draining_ = false;
  if (written) written(now);
  while (merged != kNoSlot) {
    const Merged completions = merged_[merged];
    merged_.release(merged);
    merged = completions.next;
    if (late) notices_.acknowledge(completions.persisted, now);
    if (completions.written) completions.written(now);
  }
}

bool Channel::drop(std::uint64_t number) {
  const std::uint32_t slot = writes_.slot_of(number);
  if (slot == kNoSlot || !writes_[slot].waits()) return false;
  PendingWrite& pending = writes_[slot];
  const Time now = queue_.now();
  ++statistics_.writes_dropped;
  log_.drop(pending, now);
  switch (pending.state) {
    case WriteState::kTravelling:
      writes_.drop(slot);
      if (pending.reserved) release();
      break;
    case WriteState::kWaiting: {
      WriteEntries& entries = queues_.of(pending);
      entries.waiting.remove(writes_.slots(), slot);
      count_awaiting(-1);
      writes_.remove(slot);
      accept_waiting(entries, now);
      break;
    }
    default: {  // removed first, because the next write that uses the entry may read the line
      writes_.leave_accepted(slot);
      if (pending.persistent) notices_.dropped(pending.write, now);
      while (pending.merged != kNoSlot) {
        merged_.release(std::exchange(pending.merged, merged_[pending.merged].next));
      }
      write_queue_.remove(slot);
      WriteEntries& entries = queues_.of(pending);
      writes_.remove(slot);
      free_entry(entries, now);
    }
  }
  return true;
}

MemoryStatistics Channel::statistics() const {
  const Time now = queue_.now();
  const WriteEntries& wpq = queues_.wpq;
  MemoryStatistics all = statistics_;
  all.wpq_full_time = wpq.full_time(now);
  all.wpq_entry_time = wpq.entry_time(now);
  all.most_wpq_entries = wpq.most_held();
  all.log_queue_full_time = queues_.log.full_time(now);
  all.refresh_time = timing_.refi * static_cast<std::int64_t>(all.refreshes);
  all.channel_time = now.since_start();
  all.most_reads = most_reads_;
  all.most_writes = writes_.most();
  all.queue_entries = std::uint64_t{wpq.count} + queues_.log.count;
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
  if (writes_.count() == 0) return;
  draining_ = true;
  request_wake(queue_.now());
}

std::string Channel::describe_pending() const {
  return fmt::format(
      "{} reads ({} wait for a bank), {} writes ({} in the WPQ of {} entries{}{})",
      reads_under_way_, read_queue_.size(), writes_.count(), queues_.wpq.held() - reserved_,
      queues_.wpq.count, reserved_ > 0 ? fmt::format(", {} of them reserved", reserved_) : "",
      queues_.log.count > 0
          ? fmt::format("; {} in the log queue of {}", queues_.log.held(), queues_.log.count)
          : "");
}

}  // namespace pmemsim
