// The scheduler of a channel (channel.hpp). It decides which request goes to its bank at what time.
// This file implements rules 1 to 3.
#include <bit>

#include "pmemsim/machine/memory/channel.hpp"

namespace pmemsim {

namespace {

// Calls visit(number) for each bank that has its bit set.
template <class Visit>
void for_each_bank(std::uint64_t banks, Visit visit) {
  for (; banks != 0; banks &= banks - 1) visit(static_cast<std::uint32_t>(std::countr_zero(banks)));
}

}  // namespace

void Channel::request_wake(Time at) {
  if (at >= wake_at_) return;
  wake_at_ = at;
  queue_.schedule(at, Phase::kController, completion<&Channel::wake>(*this));
}

// Requests a wake-up if a newly queued request needs a decision before the next one is due. The
// estimated time may be too early but never too late; wake() then computes the exact time.
template <class Slot>
void Channel::consider_waking(const BankQueues<Slot>& queue, std::uint32_t slot, bool reading,
                              Time now) {
  if (reading != writing_) banks_.update_wanted(queue, queue[slot].bank, now);
  if (wake_at_ <= now) return;
  if (should_write() != writing_) {
    request_wake(now);
    return;
  }
  const bool preferred = reading != writing_;
  if (!preferred && !(timing_.independent_banks && (reading || writes_wanted()))) return;
  const std::uint32_t bank = queue[slot].bank;
  if (queue.oldest_hit(bank) == slot) {
    request_wake(banks_.estimated_hit(bank, reading, now));
  } else if (queue.oldest(bank) == slot) {
    request_wake(banks_.estimated_miss(bank, reading, now));
  }
}

// The queues (channel.cpp) use these instances.
template void Channel::consider_waking(const BankQueues<PendingRead>&, std::uint32_t, bool, Time);
template void Channel::consider_waking(const BankQueues<PendingWrite>&, std::uint32_t, bool, Time);

void Channel::wake(std::uint64_t, Time now) {
  if (now != wake_at_) return;  // an earlier decision has made this event obsolete
  wake_at_ = kNever;
  if (now >= banks_.next_refresh()) {
    const Time first = banks_.next_refresh(), closed = banks_.rows_closed();
    banks_.refresh(now);
    log_.refreshes(first, banks_.next_refresh(), closed, timing_);
  }
  Time next = kNever;
  do {
    next = kNever;
    choose_direction(now);
  } while (start_one(now, next));
  if (next != kNever) request_wake(next);
}

// True if queued writes have to reach their banks without delay.
bool Channel::has_urgent_writes() const {
  return draining_ || persistence_ == PersistencePoint::kWritten || queues_.log.held() > 0 ||
         !awaiting_.empty() || any_entry_freed_;
}

// True if the channel should write as soon as no read can start.
bool Channel::writes_wanted() const {
  return has_urgent_writes() || queues_.wpq.held() > low_watermark_ || queues_.wpq.full() ||
         drains_now();
}

bool Channel::drains_now() const { return drains_when_idle_ && read_queue_.size() == 0; }

// Implements rule 2.
bool Channel::should_write() const {
  const bool reads = read_queue_.size() > 0;
  if (write_queue_.size() == 0) return false;
  if (!writing_) {
    if (!reads) return writes_wanted();
    return started_ > 0 && (queues_.wpq.nearly_full() || queues_.log.nearly_full());
  }
  if (reads && started_ >= min_writes_) return false;
  return has_urgent_writes() || queues_.wpq.held() + min_writes_ >= low_watermark_ || drains_now();
}

void Channel::choose_direction(Time now) {
  if (should_write() == writing_) return;
  writing_ = !writing_;
  started_ = 0;
  ++statistics_.bus_turnarounds;
  if (timing_.independent_banks) return;
  banks_.turn_bus(writing_ ? timing_.rtw : Picoseconds{0});
  for (std::uint32_t bank = 0; bank < banks_.count(); ++bank) {
    if (writing_) {
      banks_.update_wanted(write_queue_, bank, now);
    } else {
      banks_.update_wanted(read_queue_, bank, now);
    }
  }
}

// Implements rule 3: starts the best request that can start now. If there is none, lowers `next` to
// the earliest time at which one can start.
bool Channel::start_one(Time now, Time& next) {
  if (writing_) {
    if (start_from(write_queue_, false, now, next)) return true;
    return timing_.independent_banks && start_from(read_queue_, true, now, next);
  }
  if (start_from(read_queue_, true, now, next)) return true;
  return timing_.independent_banks && writes_wanted() && start_from(write_queue_, false, now, next);
}

// Implements rule 1.
template <class Slot>
bool Channel::start_from(BankQueues<Slot>& queue, bool reading, Time now, Time& next) {
  if (queue.size() == 0) return false;
  Time way_free = reading || queues_in_device_ ? Time{} : link_.to_device.free_at();
  if (!reading && internal_.present()) way_free = max(way_free, internal_.takes_writes_at());
  const Banks::Earliest earliest = banks_.earliest(reading, way_free, now);

  // No request can start while the bus is busy, so that the banks need no check.
  const Time bus_free = min(queue.hits() != 0 ? earliest.hit : kNever,
                            queue.occupied() != queue.hits() ? earliest.miss : kNever);
  if (bus_free > now) {
    next = min(next, bus_free);
    return false;
  }
  for_each_bank(queue.occupied() & banks_.unwanted(),
                [&](std::uint32_t bank) { banks_.update_wanted(queue, bank, now); });
  std::uint32_t best = kNoSlot;
  std::uint64_t best_order = UINT64_MAX;
  const auto consider = [&](std::uint32_t bank, std::uint32_t slot) {
    const Time at = banks_.ready(bank, reading, earliest);
    if (at > now) {
      next = min(next, at);
    } else if (queue[slot].order < best_order) {
      best = slot;
      best_order = queue[slot].order;
    }
  };
  for_each_bank(queue.hits(), [&](std::uint32_t bank) { consider(bank, queue.oldest_hit(bank)); });
  if (best == kNoSlot) {
    for_each_bank(queue.occupied() & ~queue.hits(),
                  [&](std::uint32_t bank) { consider(bank, queue.oldest(bank)); });
  }
  if (best == kNoSlot) return false;
  const std::uint32_t bank = queue[best].bank;
  started_ += reading != writing_;
  start(best, queue[best], now);
  banks_.update_wanted(queue, bank, now);
  return true;
}

void Channel::start(std::uint32_t slot, PendingRead& read, Time now) {
  const Picoseconds waits = internal_.present() ? internal_.read(read.line, now) : Picoseconds{0};
  const Time data_end = banks_.use(read, true, now, waits);
  read_queue_.remove(slot);
  if (waits_ != nullptr) waits_->read_started(read.line, now - read.arrived);
  ++statistics_.lines_read;
  const Time sent = link_.to_host.send_line(data_end + link_to_bank_);
  log_.read(read, now, data_end, sent + answer_latency_);
  queue_.schedule(sent + answer_latency_, Phase::kDevice,
                  completion<&Channel::read_answered>(*this, slot));
}

void Channel::start(std::uint32_t slot, PendingWrite& pending, Time now) {
  const Time data_end = banks_.use(pending, false, now);
  if (internal_.present()) {
    internal_.write(pending.write.line, now);
  } else {
    written_.write(pending.write.line);
  }
  const Picoseconds crossing =
      queues_in_device_ ? Picoseconds{0} : link_.to_device.send_line(now) - now;
  pending.state = WriteState::kWriting;
  ++statistics_.lines_written[static_cast<std::size_t>(pending.write.kind)];
  statistics_.residence_time += now - pending.accepted;
  const Time finished = data_end + timing_.wr + crossing;
  log_.write(pending, now, finished);
  queue_.schedule(finished, Phase::kDevice, completion<&Channel::write_finished>(*this, slot));
  write_queue_.remove(slot);
  free_entry(queues_.of(pending), now);
}

}  // namespace pmemsim
