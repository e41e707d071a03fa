// The scheduler of a channel (channel.hpp). It decides which request goes to its bank at what time,
// and applies the effects to banks, ranks and bus. This file implements rules 1 to 4.
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
  if (reading != writing_) update_wanted(queue, queue[slot].bank, now);
  if (wake_at_ <= now) return;
  if (should_write() != writing_) {
    request_wake(now);
    return;
  }
  const bool preferred = reading != writing_;
  if (!preferred && !(timing_.independent_banks && (reading || writes_wanted()))) return;
  const std::uint32_t number = queue[slot].bank;
  const Bank& bank = banks_[number];
  const Picoseconds latency = reading ? timing_.cl : timing_.cwd;
  if (queue.oldest_hit(number) == slot) {
    request_wake(max(bank.column_allowed, bus_.first_free(now + latency) - latency));
  } else if (queue.oldest(number) == slot) {
    const Picoseconds miss_latency = timing_.rcd + latency;
    request_wake(bank.open_row != kNoRow ? now
                                         : max(bank.activate_allowed,
                                               bus_.first_free(now + miss_latency) - miss_latency));
  }
}

// The queues (channel.cpp) use these instances.
template void Channel::consider_waking(const BankQueues<Read>&, std::uint32_t, bool, Time);
template void Channel::consider_waking(const BankQueues<PendingWrite>&, std::uint32_t, bool, Time);

void Channel::wake(std::uint64_t, Time now) {
  if (now != wake_at_) return;  // an earlier decision has made this event obsolete
  wake_at_ = kNever;
  if (now >= next_refresh_) refresh(now);
  Time next = kNever;
  do {
    next = kNever;
    choose_direction(now);
  } while (start_one(now, next));
  if (next != kNever) request_wake(next);
}

// True if queued writes have to reach their banks without delay.
bool Channel::has_urgent_writes() const {
  return draining_ || persistence_ == PersistencePoint::kWritten || log_queue_.held > 0 ||
         !awaiting_.empty() || any_entry_freed_;
}

// True if the channel should write as soon as no read can start.
bool Channel::writes_wanted() const {
  return has_urgent_writes() || wpq_.held > low_watermark_ || wpq_.full() || drains_now();
}

bool Channel::drains_now() const { return drains_when_idle_ && read_queue_.size() == 0; }

// Implements rule 2.
bool Channel::should_write() const {
  const bool reads = read_queue_.size() > 0;
  if (write_queue_.size() == 0) return false;
  if (!writing_) {
    if (!reads) return writes_wanted();
    return started_ > 0 && (wpq_.nearly_full() || log_queue_.nearly_full());
  }
  if (reads && started_ >= min_writes_) return false;
  return has_urgent_writes() || wpq_.held + min_writes_ >= low_watermark_ || drains_now();
}

void Channel::choose_direction(Time now) {
  if (should_write() == writing_) return;
  writing_ = !writing_;
  started_ = 0;
  ++statistics_.bus_turnarounds;
  if (timing_.independent_banks) return;
  bus_.turn(writing_ ? timing_.rtw : Picoseconds{0});
  for (std::uint32_t bank = 0; bank < banks_.size(); ++bank) {
    if (writing_) {
      update_wanted(write_queue_, bank, now);
    } else {
      update_wanted(read_queue_, bank, now);
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

// Implements rule 4: returns the time at which the bank can start its best request.
inline Time Channel::ready(std::uint32_t number, bool reading, const Earliest& earliest) const {
  const Bank& bank = banks_[number];
  const Rank& rank = ranks_[bank.rank];
  if (bank.open_row == kNoRow) {
    return max(max(bank.activate_allowed, rank.activate_allowed), earliest.miss);
  }
  if (bank.unwanted_since == kNever) {
    const Time turned = reading ? rank.read_allowed : Time{};
    return max(max(bank.column_allowed, turned), earliest.hit);
  }
  const Time precharge = max(bank.precharge_allowed, bank.unwanted_since);
  return max(max(precharge + timing_.rp, rank.activate_allowed), earliest.miss);
}

// Implements rule 1.
template <class Slot>
bool Channel::start_from(BankQueues<Slot>& queue, bool reading, Time now, Time& next) {
  if (queue.size() == 0) return false;
  const Picoseconds latency = reading ? timing_.cl : timing_.cwd;
  Time way_free = reading || queues_in_device_ ? Time{} : link_.to_device.free_at();
  if (!reading && internal_.present()) way_free = max(way_free, internal_.takes_writes_at());
  const Earliest earliest{
      max(way_free, bus_.first_free(now + latency) - latency),
      max(way_free, bus_.first_free(now + timing_.rcd + latency) - timing_.rcd - latency)};

  // No request can start while the bus is busy, so that the banks need no check.
  const Time bus_free = min(queue.hits() != 0 ? earliest.hit : kNever,
                            queue.occupied() != queue.hits() ? earliest.miss : kNever);
  if (bus_free > now) {
    next = min(next, bus_free);
    return false;
  }
  for_each_bank(queue.occupied() & unwanted_,
                [&](std::uint32_t bank) { update_wanted(queue, bank, now); });
  std::uint32_t best = kNoSlot;
  std::uint64_t best_order = UINT64_MAX;
  const auto consider = [&](std::uint32_t bank, std::uint32_t slot) {
    const Time at = ready(bank, reading, earliest);
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
  update_wanted(queue, bank, now);
  return true;
}

void Channel::start(std::uint32_t slot, Read& read, Time now) {
  const Picoseconds waits = internal_.present() ? internal_.read(read.line, now) : Picoseconds{0};
  const Time data_end = use_bank(read, true, now, waits);
  read_queue_.remove(slot);
  if (waits_ != nullptr) waits_->read_started(read.line, now - read.arrived);
  ++statistics_.lines_read;
  const Time sent = link_.to_host.send_line(data_end + link_to_bank_);
  if (stages_ != nullptr) {
    stages_->add({.stage = Stage::kRead,
                  .unit = number_,
                  .part = read.bank,
                  .line = read.line,
                  .at = {read.arrived, now, data_end, sent + answer_latency_}});
  }
  queue_.schedule(sent + answer_latency_, Phase::kDevice,
                  completion<&Channel::read_answered>(*this, slot));
}

void Channel::start(std::uint32_t slot, PendingWrite& pending, Time now) {
  const Time data_end = use_bank(pending, false, now);
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
  if (stages_ != nullptr) {
    stages_->add({.stage = Stage::kWrite,
                  .detail = static_cast<std::uint8_t>(pending.write.kind),
                  .flag = !pending.persistent,
                  .unit = number_,
                  .part = pending.bank,
                  .id = pending.write.logged,
                  .line = pending.write.line,
                  .at = {pending.arrived, pending.accepted, now, finished}});
  }
  queue_.schedule(finished, Phase::kDevice, completion<&Channel::write_finished>(*this, slot));
  leave_queue(slot, now);
}

// Closes the bank's row if another one is needed (rule 1). The precharge is not a scheduling
// decision: it happens as soon as the row is unwanted and timing permits. The caller calls this
// whenever the set of candidate requests changes.
template <class Slot>
void Channel::update_wanted(const BankQueues<Slot>& queue, std::uint32_t number, Time now) {
  Bank& bank = banks_[number];
  if (bank.open_row == kNoRow) return;
  const std::uint32_t oldest = queue.oldest(number);
  const std::uint32_t hit = queue.oldest_hit(number);
  const bool wanted = oldest == kNoSlot || hit == oldest ||
                      (hit != kNoSlot && bank.accesses < max_accesses_per_row_);
  if (bank.unwanted_since == kNever) {
    if (wanted) return;
    set_unwanted(number, now);
  }
  const Time precharge = max(bank.precharge_allowed, bank.unwanted_since);
  if (precharge <= now) {
    close_row(number, precharge);
    bank.conflict = true;
  } else if (wanted) {
    set_unwanted(number, kNever);
  }
}

// Issues the request to its bank; its first command is sent now. Returns the time at which its data
// have left the bus. `waits` is the delay by the device's media, in addition to the bank's timing.
Time Channel::use_bank(const Request& request, bool reading, Time now, Picoseconds waits) {
  Bank& bank = banks_[request.bank];
  Rank& rank = ranks_[bank.rank];
  Time column = now;
  if (bank.open_row == kNoRow) {
    activate(request, now);
    column += timing_.rcd;
  } else {
    ++statistics_.row_hits;
  }
  if (reading) column = max(column, rank.read_allowed);
  const Picoseconds latency = reading ? timing_.cl : timing_.cwd;
  const Time data = bus_.first_free(column + latency + waits);
  const Time data_end = data + timing_.burst;
  column = data - latency - waits;
  bus_.reserve(data, now);
  statistics_.bus_time += timing_.burst;

  bank.column_allowed = column + timing_.burst;
  bank.precharge_allowed =
      max(bank.precharge_allowed, reading ? column + timing_.rtp : data_end + timing_.write_busy);
  if (!reading) rank.read_allowed = max(rank.read_allowed, data_end + timing_.wtr);
  ++bank.accesses;
  if (timing_.close_rows) close_row(request.bank, bank.precharge_allowed);
  return data_end;
}

void Channel::activate(const Request& request, Time now) {
  Bank& bank = banks_[request.bank];
  Rank& rank = ranks_[bank.rank];
  if (!timing_.independent_banks) {
    ++(bank.conflict ? statistics_.row_conflicts : statistics_.row_misses);
  }
  bank.conflict = false;
  bank.open_row = request.row;
  bank.accesses = 0;
  bank.precharge_allowed = now + timing_.ras;
  read_queue_.row_opened(request.bank, request.row);
  write_queue_.row_opened(request.bank, request.row);

  rank.activates[rank.next_activate] = now;
  rank.next_activate = (rank.next_activate + 1) % 4;
  rank.activate_allowed = max(now + timing_.rrd, rank.activates[rank.next_activate] + timing_.faw);
}

void Channel::close_row(std::uint32_t number, Time precharge) {
  Bank& bank = banks_[number];
  bank.open_row = kNoRow;
  set_unwanted(number, kNever);
  bank.activate_allowed = max(bank.activate_allowed, precharge + timing_.rp);
  read_queue_.row_closed(number);
  write_queue_.row_closed(number);
}

// Applies all refreshes that are due. Earlier refreshes fell in an idle period and are over. The
// last one may still be active, and blocks all banks.
void Channel::refresh(Time now) {
  const std::int64_t due = (now - next_refresh_).count / timing_.refi.count;
  statistics_.refreshes += static_cast<std::uint64_t>(due) + 1;
  Time begin = next_refresh_ + timing_.refi * due;
  next_refresh_ = begin + timing_.refi;
  for (const Bank& bank : banks_) {
    begin = max(begin, bank.open_row == kNoRow ? bank.activate_allowed
                                               : bank.precharge_allowed + timing_.rp);
  }
  for (std::uint32_t number = 0; number < banks_.size(); ++number) {
    if (banks_[number].open_row != kNoRow) close_row(number, banks_[number].precharge_allowed);
    banks_[number].activate_allowed = begin + timing_.rfc;
  }
}

}  // namespace pmemsim
