#include "pmemsim/machine/memory/banks.hpp"

namespace pmemsim {

Banks::Banks(const MemoryParameters& p, const Timing& timing, BankQueues<PendingRead>& reads,
             BankQueues<PendingWrite>& writes, MemoryStatistics& statistics)
    : timing_(timing),
      max_accesses_per_row_(p.max_accesses_per_row),
      reads_(reads),
      writes_(writes),
      statistics_(statistics),
      banks_(p.banks()),
      ranks_(p.ranks),
      bus_(p.tburst) {
  for (std::uint32_t bank = 0; bank < banks_.size(); ++bank) {
    banks_[bank].rank = bank / p.banks_per_rank;
  }
  if (timing_.refi > Picoseconds{0}) next_refresh_ = Time{} + timing_.refi;
}

void Banks::update_wanted(std::uint32_t number, bool wanted, Time now) {
  Bank& bank = banks_[number];
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

Time Banks::use(const Request& request, bool reading, Time now, Picoseconds waits) {
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

void Banks::activate(const Request& request, Time now) {
  Bank& bank = banks_[request.bank];
  Rank& rank = ranks_[bank.rank];
  if (!timing_.independent_banks) {
    ++(bank.conflict ? statistics_.row_conflicts : statistics_.row_misses);
  }
  bank.conflict = false;
  bank.open_row = request.row;
  bank.accesses = 0;
  bank.precharge_allowed = now + timing_.ras;
  reads_.row_opened(request.bank, request.row);
  writes_.row_opened(request.bank, request.row);

  rank.activates[rank.next_activate] = now;
  rank.next_activate = (rank.next_activate + 1) % 4;
  rank.activate_allowed = max(now + timing_.rrd, rank.activates[rank.next_activate] + timing_.faw);
}

void Banks::close_row(std::uint32_t number, Time precharge) {
  Bank& bank = banks_[number];
  bank.open_row = kNoRow;
  set_unwanted(number, kNever);
  bank.activate_allowed = max(bank.activate_allowed, precharge + timing_.rp);
  reads_.row_closed(number);
  writes_.row_closed(number);
}

Time Banks::rows_closed() const {
  Time closed{};
  for (const Bank& bank : banks_) {
    closed = max(closed, bank.open_row == kNoRow ? bank.activate_allowed
                                                 : bank.precharge_allowed + timing_.rp);
  }
  return closed;
}

// Earlier refreshes fell in an idle period and are over. The last one may still be active, and
// blocks all banks.
void Banks::refresh(Time now) {
  const std::int64_t due = (now - next_refresh_).count / timing_.refi.count;
  statistics_.refreshes += static_cast<std::uint64_t>(due) + 1;
  const Time last = next_refresh_ + timing_.refi * due;
  next_refresh_ = last + timing_.refi;
  const Time begin = max(last, rows_closed());
  for (std::uint32_t number = 0; number < banks_.size(); ++number) {
    if (banks_[number].open_row != kNoRow) close_row(number, banks_[number].precharge_allowed);
    banks_[number].activate_allowed = begin + timing_.rfc;
  }
}

}  // namespace pmemsim
