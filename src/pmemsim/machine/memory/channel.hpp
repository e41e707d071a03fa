// One channel: read queue, write pending queue (WPQ), if wanted a log queue, banks and data bus.
//
// Scheduling is by request, not by DRAM command: when the first command of a request can be given,
// the channel decides for it and works out all of its times. Rules:
//  1. Row hits first, then the oldest (FR-FCFS), among the requests that can start now. After
//     max_accesses_per_row a row closes if its bank's oldest request is for another one.
//  2. Reads go before writes. The channel turns to writes when the WPQ is fuller than the high
//     watermark, or when there is no read and the WPQ is fuller than the low one; it turns back
//     when no write is left, when the WPQ is min_writes_per_switch below the low watermark, or when
//     reads wait and min_writes_per_switch have been done (gem5's policy, src/mem/mem_ctrl.cc).
//     A log queue fuller than the high watermark counts as much as the WPQ. Where writes are
//     persistent only when written, somebody waits for them, so the low watermark counts as 0 while
//     such writes are queued. drain() makes it 0 too, until no write is left.
//  3. The banks of a fixed device share nothing but the bus, so while the preferred kind of request
//     can't start, the other kind may.
//  4. Timing: tRCD, tCL, tCWD, tRP, tRAS, tWR, tRTP per bank; tRRD, tFAW, tWTR per rank; tRTW and
//     one burst at a time on the bus; refresh stops all banks. Not modelled: the command bus, bank
//     groups (tCCD_L) and the gap between bursts of different ranks (tCS).
//  5. A write holds its entry until its bank takes it, a read its entry until it is answered.
//  6. Writes are accepted in order of arrival. A write merges with the newest accepted write of its
//     line if that hasn't gone to the bank and has the same kind and owner; then it needs no entry.
//  7. With log_queue_entries, writes of log entries and log headers are accepted by a log queue,
//     which has entries of its own, and are persistent when their bank has written them; all others
//     by the WPQ. A full queue holds up its own writes only; the same scheduler serves both. Thus
//     log and data must not share a line.
//  8. A reserved entry counts as taken. One entry, or as many as writes that are accepted together
//     need, is never reserved, so that writes without a reservation always get on. A write that
//     takes over a reserved entry overtakes those that wait; those of its own line merge into it.
//  9. A write of some bytes of its line is a write like any other: it needs an entry, and its bank
//     takes as long as for a whole line. Where it merges, newer bytes win. A read is answered by
//     the queues if what waits there has all bytes of its line; otherwise by its bank, and the
//     bytes that wait are put in on its way back, which takes no time.
//
// 10. A buffered device adds to a read what its media takes, and takes no write while it has enough
//     to do (internal_buffer.hpp). What it has taken counts as written.
//
// In two files: the queues, rules 5 to 9, in channel.cpp; the scheduler, rules 1 to 4, with banks
// and bus in channel_scheduler.cpp. They are one class all the same: the scheduler takes requests
// out of the middle of the queues, and what arrives, merges or is dropped there changes what it may
// take next, so that each would need nearly all of the other's members.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/machine/memory/bank_queues.hpp"
#include "pmemsim/machine/memory/data_bus.hpp"
#include "pmemsim/machine/memory/internal_buffer.hpp"
#include "pmemsim/machine/memory/link.hpp"
#include "pmemsim/machine/memory/mapping.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/memory/timing.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

class Channel {
 public:
  // Writes go to `device` if there is one. `operations` counts, by bank, the operations that wait
  // for it or use it.
  Channel(EventQueue& queue, const MemoryParameters& parameters, LinkPair& link, Image* device,
          std::span<std::uint32_t> operations);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void read(Line line, const Place& place, Completion done);
  // Both give the WriteId::number.
  std::uint64_t write(const Write& write, const Place& place);
  std::uint64_t write_reserved(const Write& write, const Place& place);
  // Accepts it at once; there must be room.
  std::uint64_t write_now(const Write& write, const Place& place, bool reserved, bool more_follow);
  bool has_room(std::uint32_t entries) const { return wpq_.held + entries <= wpq_.count; }
  void await_room(Completion room);
  void keep_free(std::uint32_t entries) { kept_free_ = entries; }
  bool reserve();
  bool can_reserve(std::uint32_t entries) const;
  void release();
  void await_entry(Completion free);
  bool drop(std::uint64_t number);
  bool find(Line line, WriteKind kind, std::uint64_t& number) const;
  const Write* pending(std::uint64_t number) const;
  Write pending_of(Line line) const;  // all pending writes of the line, as one

  template <class Visit>
  void for_each_accepted(Visit&& visit) const {
    for (std::uint32_t slot = oldest_accepted_; slot != kNoSlot;
         slot = writes_[slot].accepted_next) {
      if (writes_[slot].persistent) visit(writes_[slot].write);
    }
  }
  void observe(PersistenceObserver* observer) { observer_ = observer; }

  bool idle() const { return reads_under_way_ == 0 && writes_under_way_ == 0; }
  void drain();
  std::string describe_pending() const;

  MemoryStatistics statistics() const;

 private:
  static constexpr Time kLongAgo{INT64_MIN / 2};

  struct Read : Request {
    Line line;
    Completion done;
    Time arrived{};
  };
  enum class WriteState : std::uint8_t {
    kTravelling,  // on the link to a device that has the queues
    kWaiting,     // for its queue to have room
    kQueued,      // in the WPQ or the log queue
    kWriting,     // its bank has taken it
    kDropped,     // dropped while it was travelling
  };
  struct PendingWrite : Request {
    Write write;
    WriteState state = WriteState::kTravelling;
    bool persistent = false;
    bool reserved = false;    // has an entry of the WPQ before it is accepted
    bool log_queued = false;  // belongs to the log queue
    Time arrived{};
    Time accepted{};
    std::uint32_t same_bucket = kNoSlot;  // next in the table of lines
    std::uint32_t merged = kNoSlot;       // first of those to tell that merged with this one
    std::uint32_t accepted_previous = kNoSlot;
    std::uint32_t accepted_next = kNoSlot;
  };
  // What is left of a write that has merged with another.
  struct Merged {
    Completion persisted;
    Completion written;
    Completion persisting;
    std::uint32_t next = kNoSlot;
  };
  // The entries of the WPQ or the log queue, and the writes that wait for one.
  struct Entries {
    Entries(std::uint32_t entries, const MemoryParameters& p);

    bool full() const { return held == count; }
    bool nearly_full() const { return held > high_watermark || (full() && count > 0); }

    const std::uint32_t count;
    const std::uint32_t high_watermark;
    std::uint32_t held = 0;
    RequestList<PendingWrite> waiting;
    Time full_since = kNever;
    Picoseconds full_time{};
  };
  struct Bank {
    std::uint64_t open_row = kNoRow;
    Time activate_allowed{};
    Time precharge_allowed{};
    Time column_allowed{};
    Time unwanted_since = kNever;  // its row is open but another is needed
    std::uint32_t accesses = 0;    // to the open row
    std::uint32_t rank = 0;
    bool conflict = false;  // its last row was closed for another one
  };
  struct Rank {
    Time read_allowed{};      // tWTR
    Time activate_allowed{};  // tRRD, tFAW
    // The last four, in a ring; from long ago until there have been four.
    Time activates[4] = {kLongAgo, kLongAgo, kLongAgo, kLongAgo};
    std::uint32_t next_activate = 0;
  };
  // When the bus (and the link) could take a row hit, or a request that has to activate its row.
  struct Earliest {
    Time hit;
    Time miss;
  };
  // Events.
  void wake(std::uint64_t, Time now);
  void read_arrived(std::uint64_t slot, Time now);
  void read_answered(std::uint64_t slot, Time now);
  void write_arrived(std::uint64_t slot, Time now);
  void write_finished(std::uint64_t slot, Time now);

  // The queues (channel.cpp).
  void enter_read_queue(std::uint32_t slot, Time now);
  Entries& entries_for(const Write& write);
  Entries& entries_of(const PendingWrite& write) { return write.log_queued ? log_queue_ : wpq_; }
  std::uint64_t new_write(const Write& write, const Place& place, bool reserved);
  std::uint32_t take_slot(const Write& write, const Place& place);
  void tell_observer(const Write& write, PersistencePoint reached, Time now);
  void accept(std::uint32_t slot, Time now);
  void accept_waiting(Entries& entries, Time now);
  void accept_reserved(std::uint32_t slot, Time now);
  void add_waiting_bytes(std::uint32_t slot);
  void take_in_waiting(Line line, std::uint32_t with, Time now);
  void hold_entry(Entries& entries, Time now);
  void free_entry(Entries& entries, Time now);
  std::uint32_t merge_candidate(const Write& write) const;
  void merge(std::uint32_t with, const Write& write, Time now);
  void tell_with(std::uint32_t with, const Write& write, Time now);
  void persist(const Write& write, PersistencePoint reached, Time now);
  void acknowledge(const Completion& persisted, Time now);
  void leave_queue(std::uint32_t slot, Time now);
  void leave_accepted(std::uint32_t slot);
  void forget(std::uint32_t slot);
  void unlink_line(std::uint32_t slot);
  std::uint64_t number_of(std::uint32_t slot) const;
  std::uint32_t slot_of(std::uint64_t number) const;  // kNoSlot if it is no longer here
  static bool waits(WriteState state) { return state <= WriteState::kQueued; }
  bool whole_line_waits(Line line) const;
  std::size_t bucket(Line line) const;

  // The scheduler (channel_scheduler.cpp).
  void request_wake(Time at);
  template <class Slot>
  void consider_waking(const BankQueues<Slot>& queue, std::uint32_t slot, bool reading, Time now);
  bool somebody_waits() const;
  bool writes_wanted() const;
  bool should_write() const;
  void choose_direction(Time now);
  bool start_one(Time now, Time& next);
  template <class Slot>
  bool start_from(BankQueues<Slot>& queue, bool reading, Time now, Time& next);
  Time ready(std::uint32_t bank, bool reading, const Earliest& earliest) const;
  template <class Slot>
  void update_wanted(const BankQueues<Slot>& queue, std::uint32_t bank, Time now);
  Time use_bank(const Request& request, bool reading, Time now, Picoseconds waits = {});
  void activate(const Request& request, Time now);
  void start(std::uint32_t slot, Read& read, Time now);
  void start(std::uint32_t slot, PendingWrite& write, Time now);
  void close_row(std::uint32_t bank, Time precharge);
  void set_unwanted(std::uint32_t bank, Time since) {
    banks_[bank].unwanted_since = since;
    const std::uint64_t bit = std::uint64_t{1} << bank;
    unwanted_ = since == kNever ? unwanted_ & ~bit : unwanted_ | bit;
  }
  void refresh(Time now);

  EventQueue& queue_;
  LinkPair& link_;
  Image* const device_;
  const std::span<std::uint32_t> operations_;
  PersistenceObserver* observer_ = nullptr;

  const Timing timing_;
  const std::uint32_t read_entries_;
  const std::uint32_t low_watermark_;
  const std::uint32_t min_writes_;
  const std::uint32_t max_accesses_per_row_;
  const PersistencePoint persistence_;
  const bool merging_;
  const MemoryFaults faults_;
  const bool queues_in_device_;
  const Picoseconds front_latency_;
  const Picoseconds answer_latency_;
  const Picoseconds acknowledge_latency_;
  const Picoseconds link_to_bank_;  // what the link adds between leaving a queue and the bank

  Slab<Read> reads_;
  Slab<PendingWrite> writes_;
  Slab<Merged> merged_;
  BankQueues<Read> read_queue_;
  BankQueues<PendingWrite> write_queue_;
  RequestList<Read> waiting_reads_;
  Entries wpq_;
  Entries log_queue_;
  std::uint32_t reserved_ = 0;        // entries of the WPQ without a write
  std::uint32_t kept_free_ = 1;       // entries that are never reserved
  std::vector<Completion> awaiting_;  // an entry that can be reserved
  Completion room_;                   // wants to know of any entry that becomes free
  bool more_follow_ = false;          // what is being accepted comes together with others
  std::vector<std::uint32_t> lines_;  // hash table of pending writes by line, newest first
  std::uint32_t oldest_accepted_ = kNoSlot;
  std::uint32_t newest_accepted_ = kNoSlot;
  std::uint32_t reads_held_ = 0;  // entries of the read queue in use
  std::int64_t reads_under_way_ = 0, most_reads_ = 0;
  std::int64_t writes_under_way_ = 0, most_writes_ = 0;
  std::uint64_t order_ = 0;

  std::vector<Bank> banks_;
  std::uint64_t unwanted_ = 0;  // a bit for each bank with unwanted_since
  std::vector<Rank> ranks_;
  DataBus bus_;
  InternalBuffer internal_;
  bool writing_ = false;
  bool draining_ = false;
  std::uint32_t started_ = 0;  // requests since the channel turned round
  Time wake_at_ = kNever;
  Time next_refresh_ = kNever;

  MemoryStatistics statistics_;
};

}  // namespace pmemsim
