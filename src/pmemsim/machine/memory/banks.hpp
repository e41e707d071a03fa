// The banks, ranks and data bus of a channel's device: the times at which they can take requests
// (channel.hpp, rule 4), and the rows that are open (rule 1).
//
// tRCD, tCL, tCWD, tRP, tRAS, tWR and tRTP apply to a bank; tRRD, tFAW and tWTR to a rank; one
// burst at a time to the bus. A refresh stops all banks.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/machine/memory/bank_queues.hpp"
#include "pmemsim/machine/memory/data_bus.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/memory/pending_writes.hpp"
#include "pmemsim/machine/memory/timing.hpp"

namespace pmemsim {

// A read, from its arrival at the channel until it is answered.
struct PendingRead : Request {
  Line line;
  Completion done;
  Time arrived{};
};

class Banks {
 public:
  // Earliest times at which bus and link can take a row hit, or a request that has to activate its
  // row.
  struct Earliest {
    Time hit;
    Time miss;
  };

  // `reads` and `writes` are the queued requests.
  Banks(const MemoryParameters& parameters, const Timing& timing, BankQueues<PendingRead>& reads,
        BankQueues<PendingWrite>& writes, MemoryStatistics& statistics);

  std::uint32_t count() const { return static_cast<std::uint32_t>(banks_.size()); }
  std::uint64_t open_row(std::uint32_t bank) const { return banks_[bank].open_row; }
  // Bit mask of the banks whose row is open although another row is needed.
  std::uint64_t unwanted() const { return unwanted_; }
  Time next_refresh() const { return next_refresh_; }

  // Returns the earliest times at which requests can be sent, `way_free` or later.
  Earliest earliest(bool reading, Time way_free, Time now) const {
    const Picoseconds latency = reading ? timing_.cl : timing_.cwd;
    return {max(way_free, bus_.first_free(now + latency) - latency),
            max(way_free, bus_.first_free(now + timing_.rcd + latency) - timing_.rcd - latency)};
  }
  // Returns the time at which the bank can start its best request.
  Time ready(std::uint32_t number, bool reading, const Earliest& earliest) const {
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
  // Return a time, never too late, at which a bank can start a hit of its open row, or another
  // request.
  Time estimated_hit(std::uint32_t number, bool reading, Time now) const {
    const Picoseconds latency = reading ? timing_.cl : timing_.cwd;
    return max(banks_[number].column_allowed, bus_.first_free(now + latency) - latency);
  }
  Time estimated_miss(std::uint32_t number, bool reading, Time now) const {
    const Bank& bank = banks_[number];
    if (bank.open_row != kNoRow) return now;
    const Picoseconds latency = timing_.rcd + (reading ? timing_.cl : timing_.cwd);
    return max(bank.activate_allowed, bus_.first_free(now + latency) - latency);
  }

  // Closes the bank's row if another one is needed (rule 1). The precharge is not a scheduling
  // decision: it happens as soon as the row is unwanted and timing permits. The caller calls this
  // whenever the set of candidate requests changes.
  template <class Slot>
  void update_wanted(const BankQueues<Slot>& queue, std::uint32_t number, Time now) {
    Bank& bank = banks_[number];
    if (bank.open_row == kNoRow) return;
    const std::uint32_t oldest = queue.oldest(number);
    const std::uint32_t hit = queue.oldest_hit(number);
    const bool wanted = oldest == kNoSlot || hit == oldest ||
                        (hit != kNoSlot && bank.accesses < max_accesses_per_row_);
    update_wanted(number, wanted, now);
  }
  // Sends a request to its bank; its first command is sent now. Returns the time at which its data
  // have left the bus. `waits` is the delay by the device's media, in addition to the bank's
  // timing.
  Time use(const Request& request, bool reading, Time now, Picoseconds waits = {});
  // Turns the bus around, after this gap.
  void turn_bus(Picoseconds gap) { bus_.turn(gap); }
  // Returns the earliest time at which the rows of all banks are closed: a refresh waits for it.
  Time rows_closed() const;
  // Applies all refreshes that are due.
  void refresh(Time now);

 private:
  static constexpr Time kLongAgo{INT64_MIN / 2};

  struct Bank {
    std::uint64_t open_row = kNoRow;
    Time activate_allowed{};
    Time precharge_allowed{};
    Time column_allowed{};
    Time unwanted_since = kNever;  // its row is open but another row is needed
    std::uint32_t accesses = 0;    // accesses to the open row
    std::uint32_t rank = 0;
    bool conflict = false;  // its last row was closed because another row was needed
  };
  struct Rank {
    Time read_allowed{};      // limited by tWTR
    Time activate_allowed{};  // limited by tRRD and tFAW
    // Times of the last four activates, as a ring buffer. Initial values are far in the past.
    Time activates[4] = {kLongAgo, kLongAgo, kLongAgo, kLongAgo};
    std::uint32_t next_activate = 0;
  };

  void update_wanted(std::uint32_t number, bool wanted, Time now);
  void activate(const Request& request, Time now);
  void close_row(std::uint32_t number, Time precharge);
  void set_unwanted(std::uint32_t number, Time since) {
    banks_[number].unwanted_since = since;
    const std::uint64_t bit = std::uint64_t{1} << number;
    unwanted_ = since == kNever ? unwanted_ & ~bit : unwanted_ | bit;
  }

  const Timing& timing_;
  const std::uint32_t max_accesses_per_row_;
  BankQueues<PendingRead>& reads_;
  BankQueues<PendingWrite>& writes_;
  MemoryStatistics& statistics_;
  std::vector<Bank> banks_;
  std::vector<Rank> ranks_;
  std::uint64_t unwanted_ = 0;
  DataBus bus_;
  Time next_refresh_ = kNever;
};

}  // namespace pmemsim
