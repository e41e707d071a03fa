// One memory channel: read queue, write pending queue (WPQ), optional log queue, banks and data
// bus.
//
// Scheduling is by request, not by DRAM command. When the first command of a request can be issued,
// the channel selects the request and computes all of its times. Rules:
//  1. Among the requests that can start now, row hits have priority, then the oldest request
//     (FR-FCFS). After max_accesses_per_row accesses a row closes if its bank's oldest request is
//     for another row.
//  2. Reads have priority over writes. The channel switches to writes when the WPQ is fuller than
//     the high watermark. It also does so when there is no read and the WPQ is fuller than the low
//     watermark. It switches back in three cases (gem5's policy, src/mem/mem_ctrl.cc): no write is
//     left; the WPQ is min_writes_per_switch below the low watermark; or reads are queued and
//     min_writes_per_switch writes have been issued. A log queue that is fuller than its high
//     watermark makes it switch to writes, too. The channel writes even below the
//     low watermark in three cases: writes are queued that are persistent only when written, since
//     other components wait for them; after drain(), until no write is left; and with
//     IdleWrites::kDrain, while no read is queued.
//  3. The banks of a fixed or buffered device share only the bus. While the preferred kind of
//     request can't start, the other kind may start.
//  4. Timing: tRCD, tCL, tCWD, tRP, tRAS, tWR, tRTP per bank; tRRD, tFAW, tWTR per rank; tRTW and
//     one burst at a time on the bus; refresh stops all banks. Not modelled: the command bus, bank
//     groups (tCCD_L) and the gap between bursts of different ranks (tCS).
//  5. A write occupies its queue entry until its bank takes it. A read occupies its entry until it
//     is answered.
//  6. Writes are accepted in order of arrival. A write merges with the newest accepted write of its
//     line if that write is still in its queue and has the same kind and owner. A merged write
//     needs no entry.
//  7. With log_queue_entries, a log queue with its own entries accepts the writes of log entries
//     and log headers. They are persistent when their bank has written them. The WPQ accepts all
//     other writes. A full queue delays only its own writes; the same scheduler serves both queues.
//     Therefore log and data must not share a line.
//  8. A reserved entry counts as occupied. Some entries can't be reserved: as many as the largest
//     group of writes that are accepted together (one by default). So writes without a reservation
//     always make progress. A write that uses a reserved entry overtakes waiting writes; waiting
//     writes of its own line merge into it.
//  9. A write of only a part of its line takes a whole entry, and its bank takes as long as for a
//     whole line. In a merge, newer bytes win. The queues answer a read if their writes contain all
//     bytes of its line. Otherwise its bank answers it, and the queued bytes are inserted on the
//     return path, which takes no time.
// 10. A buffered device adds the time of its media to a read. It takes no write while enough media
//     writes are pending (internal_buffer.hpp, rule 4). A write that the device has taken counts as
//     written.
//
// The implementation is in two files: the queues, rules 5 to 9, in channel.cpp; the scheduler,
// rules 1 to 4, with banks and bus in channel_scheduler.cpp. Both parts form one class, because
// each needs nearly all members of the other. The scheduler removes requests from the middle of the
// queues. Writes that arrive, merge or are dropped in the queues change the requests that the
// scheduler may select next.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/common/stage_log.hpp"
#include "pmemsim/machine/memory/bank_queues.hpp"
#include "pmemsim/machine/memory/data_bus.hpp"
#include "pmemsim/machine/memory/internal_buffer.hpp"
#include "pmemsim/machine/memory/link.hpp"
#include "pmemsim/machine/memory/mapping.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/memory/request_stages.hpp"
#include "pmemsim/machine/memory/timing.hpp"
#include "pmemsim/machine/memory/write.hpp"
#include "pmemsim/machine/memory/written_lines.hpp"

namespace pmemsim {

class Channel {
 public:
  // Constructs a channel whose writes go to `device` if it is not null. `operations` counts, by
  // bank, the operations that wait for the bank or use it.
  Channel(EventQueue& queue, const MemoryParameters& parameters, LinkPair& link, Image* device,
          std::span<std::uint32_t> operations);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void read(Line line, const DeviceLocation& location, Completion done);
  // write() and write_reserved() return the WriteId::number.
  std::uint64_t write(const Write& write, const DeviceLocation& location);
  std::uint64_t write_reserved(const Write& write, const DeviceLocation& location);
  // Accepts the write at once; the WPQ must have a free entry for it.
  std::uint64_t write_now(const Write& write, const DeviceLocation& location, bool reserved,
                          bool more_follow);
  bool has_free_entries(std::uint32_t entries) const { return wpq_.held + entries <= wpq_.count; }
  void await_any_free_entry(Completion freed);
  void set_unreservable(std::uint32_t entries) { unreservable_ = entries; }
  bool writes_wait() const;
  void await_admission(Completion admitted);
  bool reserve();
  bool can_reserve(std::uint32_t entries) const;
  void release();
  void await_entry(Completion free);
  bool drop(std::uint64_t number);
  bool find(Line line, WriteKind kind, std::uint64_t& number) const;
  const Write* pending(std::uint64_t number) const;
  Write pending_of(Line line) const;  // all pending writes of the line, combined

  template <class Visit>
  void for_each_accepted(Visit&& visit) const {
    for (std::uint32_t slot = oldest_accepted_; slot != kNoSlot;
         slot = writes_[slot].accepted_next) {
      if (writes_[slot].persistent) visit(writes_[slot].write);
    }
  }
  // Applies the line's accepted and persistent writes, oldest first, to its data on the device.
  void apply_accepted(Line line, LineData& data) const;
  void observe(PersistenceObserver* observer) { observer_ = observer; }
  // Logs stages under this number of the channel.
  void log_stages(StageLog* stages, std::uint32_t number) {
    stages_ = stages;
    number_ = number;
  }
  void profile(RequestStages* stages) { waits_ = stages; }

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
    kTravelling,  // on the link to a device that contains the queues
    kWaiting,     // waiting for an entry of its queue
    kQueued,      // in the WPQ or the log queue
    kWriting,     // its bank has taken it
    kDropped,     // dropped while it was on the link
  };
  struct PendingWrite : Request {
    Write write;
    WriteState state = WriteState::kTravelling;
    bool persistent = false;
    bool reserved = false;     // has a WPQ entry before it is accepted
    bool log_queued = false;   // belongs to the log queue
    bool is_accepted = false;  // in the list of accepted writes
    Time arrived{};
    Time accepted{};
    std::uint32_t same_bucket = kNoSlot;  // next write in the same bucket of lines_
    std::uint32_t merged = kNoSlot;       // first of the writes that merged with this one
    std::uint32_t accepted_previous = kNoSlot;
    std::uint32_t accepted_next = kNoSlot;
  };
  // The completions of a write that has merged with another one.
  struct Merged {
    Completion persisted;
    Completion written;
    Completion persisting;
    std::uint32_t next = kNoSlot;
  };
  // The entries of the WPQ or the log queue, and the writes that wait for an entry.
  struct Entries {
    Entries(std::uint32_t entries, const MemoryParameters& p);

    bool full() const { return held == count; }
    // Adds up the entries in use over time, before their number changes.
    void passed(Time now) {
      entry_time += (now - changed) * held;
      changed = now;
    }
    bool nearly_full() const { return held > high_watermark || (full() && count > 0); }

    const std::uint32_t count;
    const std::uint32_t high_watermark;
    std::uint32_t held = 0;
    RequestList<PendingWrite> waiting;
    Time full_since = kNever;
    Picoseconds full_time{};
    std::uint32_t most_held = 0;
    Time changed{};
    Picoseconds entry_time{};  // sum over entries of the time in use
  };
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
  // Earliest times at which the bus and the link can take a row hit, or a request that has to
  // activate its row.
  struct Earliest {
    Time hit;
    Time miss;
  };
  // Event handlers.
  void wake(std::uint64_t, Time now);
  void read_arrived(std::uint64_t slot, Time now);
  void read_answered(std::uint64_t slot, Time now);
  void write_arrived(std::uint64_t slot, Time now);
  void write_finished(std::uint64_t slot, Time now);
  void admit(std::uint64_t, Time now);

  // The queues (channel.cpp).
  void enter_read_queue(std::uint32_t slot, Time now);
  Entries& entries_for(const Write& write);
  Entries& entries_of(const PendingWrite& write) { return write.log_queued ? log_queue_ : wpq_; }
  std::uint64_t new_write(const Write& write, const DeviceLocation& location, bool reserved);
  std::uint32_t take_slot(const Write& write, const DeviceLocation& location);
  void notify_observer(const Write& write, PersistencePoint reached, Time now);
  void accept(std::uint32_t slot, Time now);
  void accept_waiting(Entries& entries, Time now);
  void accept_reserved(std::uint32_t slot, Time now);
  void request_admission(Time now);
  void count_awaiting(std::int64_t writes) {
    if (waits_ != nullptr) waits_->await_entry(writes, queue_.now());
  }
  void add_waiting_bytes(std::uint32_t slot);
  void merge_waiting(Line line, std::uint32_t with, Time now);
  void hold_entry(Entries& entries, Time now);
  void free_entry(Entries& entries, Time now);
  void log_occupancy(const Entries& entries, Time now) {
    if (stages_ != nullptr) [[unlikely]]
      add_occupancy(entries, now);
  }
  void add_occupancy(const Entries& entries, Time now);
  void log_merge(const Write& write, const Write& with, Time now);
  std::uint32_t merge_candidate(const Write& write) const;
  void merge(std::uint32_t with, const Write& write, Time now);
  void record_merged(std::uint32_t with, const Write& write, Time now);
  void persist(const Write& write, PersistencePoint reached, Time now);
  void acknowledge(const Completion& persisted, Time now);
  void leave_queue(std::uint32_t slot, Time now);
  void leave_accepted(std::uint32_t slot);
  void forget(std::uint32_t slot);
  void unlink_line(std::uint32_t slot);
  std::uint64_t number_of(std::uint32_t slot) const;
  std::uint32_t slot_of(std::uint64_t number) const;  // kNoSlot if the write has left the channel
  static bool waits(WriteState state) { return state <= WriteState::kQueued; }
  bool whole_line_waits(Line line) const;
  std::size_t bucket(Line line) const;

  // The scheduler (channel_scheduler.cpp).
  void request_wake(Time at);
  template <class Slot>
  void consider_waking(const BankQueues<Slot>& queue, std::uint32_t slot, bool reading, Time now);
  bool has_urgent_writes() const;
  bool writes_wanted() const;
  bool drains_now() const;
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
  StageLog* stages_ = nullptr;
  std::uint32_t number_ = 0;        // the channel's number in the log of stages
  RequestStages* waits_ = nullptr;  // nullptr: the run isn't profiled

  const Timing timing_;
  const std::uint32_t read_entries_;
  const std::uint32_t low_watermark_;
  const std::uint32_t min_writes_;
  const bool drains_when_idle_;
  const std::uint32_t max_accesses_per_row_;
  const PersistencePoint persistence_;
  const bool merging_;
  const MemoryFaults faults_;
  const bool queues_in_device_;
  const Picoseconds front_latency_;
  const Picoseconds answer_latency_;
  const Picoseconds acknowledge_latency_;
  const Picoseconds link_to_bank_;  // link latency between leaving a queue and the bank

  Slab<Read> reads_;
  Slab<PendingWrite> writes_;
  Slab<Merged> merged_;
  BankQueues<Read> read_queue_;
  BankQueues<PendingWrite> write_queue_;
  RequestList<Read> waiting_reads_;
  Entries wpq_;
  Entries log_queue_;
  std::uint32_t reserved_ = 0;         // WPQ entries that are reserved without a write
  std::uint32_t unreservable_ = 1;     // entries that are never reserved
  std::vector<Completion> awaiting_;   // completions for the next entry that can be reserved
  Completion any_entry_freed_;         // completion for the next entry that becomes free
  std::deque<Completion> admissions_;  // callers of await_admission(), oldest first
  bool admission_requested_ = false;   // an event of admit() is scheduled
  bool more_follow_ = false;           // other writes of the accepted write's group follow
  std::vector<std::uint32_t> lines_;   // hash table of pending writes by line, newest first
  std::uint32_t oldest_accepted_ = kNoSlot;
  std::uint32_t newest_accepted_ = kNoSlot;
  std::uint32_t reads_held_ = 0;  // number of read queue entries in use
  std::int64_t reads_under_way_ = 0, most_reads_ = 0;
  std::int64_t writes_under_way_ = 0, most_writes_ = 0;
  std::uint64_t last_arrival_ = 0;

  std::vector<Bank> banks_;
  std::uint64_t unwanted_ = 0;  // bit mask of the banks with unwanted_since
  std::vector<Rank> ranks_;
  DataBus bus_;
  InternalBuffer internal_;
  WrittenLines written_;  // unless the device is buffered
  bool writing_ = false;
  bool draining_ = false;
  std::uint32_t started_ = 0;  // requests issued since the channel switched direction
  Time wake_at_ = kNever;
  Time next_refresh_ = kNever;

  MemoryStatistics statistics_;
};

}  // namespace pmemsim
