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
// The channel consists of the writes that it has (pending_writes.hpp), the entries of its queues
// (write_entries.hpp), and the banks with the bus (banks.hpp). This class moves requests between
// them. Its implementation is in two files: the queues, rules 5 to 9, in channel.cpp; the
// scheduler, rules 1 to 3, in channel_scheduler.cpp. Both parts form one class: the scheduler
// removes requests from the middle of the queues, and requests that arrive, merge or are dropped
// change what the scheduler may select next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/machine/memory/admissions.hpp"
#include "pmemsim/machine/memory/bank_queues.hpp"
#include "pmemsim/machine/memory/banks.hpp"
#include "pmemsim/machine/memory/channel_log.hpp"
#include "pmemsim/machine/memory/internal_buffer.hpp"
#include "pmemsim/machine/memory/link.hpp"
#include "pmemsim/machine/memory/mapping.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"
#include "pmemsim/machine/memory/pending_writes.hpp"
#include "pmemsim/machine/memory/persistence_notices.hpp"
#include "pmemsim/machine/memory/request_stages.hpp"
#include "pmemsim/machine/memory/timing.hpp"
#include "pmemsim/machine/memory/write.hpp"
#include "pmemsim/machine/memory/write_entries.hpp"
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
  bool has_free_entries(std::uint32_t entries) const {
    return queues_.wpq.held() + entries <= queues_.wpq.count;
  }
  void await_any_free_entry(Completion freed);
  void set_unreservable(std::uint32_t entries) { unreservable_ = entries; }
  const Admissions& admissions() const { return admissions_; }
  Admissions& admissions() { return admissions_; }
  bool reserve();
  bool can_reserve(std::uint32_t entries) const;
  void release();
  void await_entry(Completion free);
  bool drop(std::uint64_t number);
  const PendingWrites& writes() const { return writes_; }
  void observe(PersistenceObserver* observer) { notices_.observe(observer); }
  // Logs stages under this number of the channel.
  void log_stages(StageLog* stages, std::uint32_t number) { log_.start(stages, number); }
  void profile(RequestStages* stages) { waits_ = stages; }

  bool idle() const { return reads_under_way_ == 0 && writes_.count() == 0; }
  void drain();
  std::string describe_pending() const;

  MemoryStatistics statistics() const;

 private:
  using WriteState = PendingWrite::State;
  // The completions of a write that has merged with another one.
  struct Merged {
    Completion persisted;
    Completion written;
    Completion persisting;
    std::uint32_t next = kNoSlot;
  };
  // Event handlers.
  void wake(std::uint64_t, Time now);
  void read_arrived(std::uint64_t slot, Time now);
  void read_answered(std::uint64_t slot, Time now);
  void write_arrived(std::uint64_t slot, Time now);
  void write_finished(std::uint64_t slot, Time now);

  // The queues (channel.cpp).
  void enter_read_queue(std::uint32_t slot, Time now);
  std::uint64_t new_write(const Write& write, const DeviceLocation& location, bool reserved);
  void accept(std::uint32_t slot, Time now);
  void accept_waiting(WriteEntries& entries, Time now);
  void accept_reserved(std::uint32_t slot, Time now);
  void count_awaiting(std::int64_t writes) {
    if (waits_ != nullptr) waits_->await_entry(writes, queue_.now());
  }
  void merge_waiting(Line line, std::uint32_t with, Time now);
  void hold_entry(WriteEntries& entries, Time now);
  void free_entry(WriteEntries& entries, Time now);
  void merge(std::uint32_t with, const Write& write, Time now);
  void record_merged(std::uint32_t with, const Write& write, Time now);

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
  void start(std::uint32_t slot, PendingRead& read, Time now);
  void start(std::uint32_t slot, PendingWrite& write, Time now);

  EventQueue& queue_;
  LinkPair& link_;
  Image* const device_;
  const std::span<std::uint32_t> operations_;
  ChannelLog log_;
  RequestStages* waits_ = nullptr;  // nullptr: the run isn't profiled

  const Timing timing_;
  const std::uint32_t read_entries_;
  const std::uint32_t low_watermark_;
  const std::uint32_t min_writes_;
  const bool drains_when_idle_;
  const PersistencePoint persistence_;
  const MemoryFaults faults_;
  const bool queues_in_device_;
  const Picoseconds front_latency_;
  const Picoseconds answer_latency_;
  const Picoseconds link_to_bank_;  // link latency between leaving a queue and the bank

  Slab<PendingRead> reads_;
  PendingWrites writes_;
  Slab<Merged> merged_;
  BankQueues<PendingRead> read_queue_;
  BankQueues<PendingWrite> write_queue_;
  RequestList<PendingRead> waiting_reads_;
  WriteQueues queues_;
  Admissions admissions_;
  PersistenceNotices notices_;
  std::uint32_t reserved_ = 0;        // WPQ entries that are reserved without a write
  std::uint32_t unreservable_ = 1;    // entries that are never reserved
  std::vector<Completion> awaiting_;  // completions for the next entry that can be reserved
  Completion any_entry_freed_;        // completion for the next entry that becomes free
  std::uint32_t reads_held_ = 0;      // number of read queue entries in use
  std::int64_t reads_under_way_ = 0, most_reads_ = 0;
  std::uint64_t last_arrival_ = 0;

  MemoryStatistics statistics_;
  Banks banks_;
  InternalBuffer internal_;
  WrittenLines written_;  // unless the device is buffered
  bool writing_ = false;
  bool draining_ = false;
  std::uint32_t started_ = 0;  // requests issued since the channel switched direction
  Time wake_at_ = kNever;
};

}  // namespace pmemsim
