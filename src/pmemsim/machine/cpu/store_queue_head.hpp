// The head of a core's store queue. At the head, stores become visible, flushes are sent and fences
// wait.
//
// An entry may need several steps, each at its own time (Step). While an entry waits for an event
// that will call resume_drain(), its step is the one at which it continues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"
#include "pmemsim/designs/interface/program_events.hpp"
#include "pmemsim/machine/cache/hierarchy.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/core_statistics.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"
#include "pmemsim/machine/cpu/data_port.hpp"
#include "pmemsim/machine/cpu/draining_regions.hpp"
#include "pmemsim/machine/cpu/miss_registers.hpp"
#include "pmemsim/machine/cpu/recent_waits.hpp"
#include "pmemsim/machine/cpu/speculative_stores.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"
#include "pmemsim/machine/cpu/thread_synchronisation.hpp"

namespace pmemsim {

class CoreProfile;

class StoreQueueHead {
 public:
  // The interface to the core.
  class Owner {
   public:
    // A serialising entry has left the queue. `rob` is its entry in the reorder buffer.
    virtual void left_store_queue(std::uint32_t rob, Slot slot) = 0;
    // The queue is empty, or its head waits.
    virtual void drain_stopped() = 0;
    // A store has left the store queue. Called if a layer has requested kWrittenStores.
    virtual void store_written(const StoreEntry& store, Slot slot) = 0;
    // An event has resumed the head.
    virtual void drain_resumed() = 0;
    // The end of the oldest region that could be rolled back has left the queue.
    virtual void region_drained() = 0;

   protected:
    ~Owner() = default;
  };
  struct Parts {
    EventQueue& queue;
    Hierarchy& hierarchy;
    PmSpace& pm_space;
    Synchronisation& synchronisation;
    Design& design;
    const ProgramEvents& program_events;
    SpeculativeStores& speculative_stores;
  };
  StoreQueueHead(const Parts& parts, Owner& owner, const Clock& clock,
                 const CoreParameters& parameters, CoreId id, LockOrder lock_order,
                 MissRegisters& misses, DataPort& port, CoreStatistics& statistics);

  // Charges waits at the head to lines of the program, if a profile is given.
  void profile(CoreProfile* profile) { profile_ = profile; }
  const CoreProfile* profile() const { return profile_; }

  StoreQueue& stores() { return stores_; }
  bool draining() const { return draining_; }
  // Returns the time at which the last entry left.
  Slot drained() const { return drained_; }
  std::uint64_t region_in_effect() const { return region_in_effect_; }

  // Describes the entry at the head and what it waits for.
  static std::string waiting_for(const StoreEntry& head);

  // Sets the start time, before the thread's first entry.
  void begin(Slot slot) { drained_ = slot; }
  // Lets entries leave the queue as far as possible.
  void drain();
  // Writes these bytes outside PM as drain() would do for a store that has retired at `eligible`,
  // and whose value was known at `data_ready`. Returns false, without any effect, if the store has
  // to wait in the queue.
  bool write_at_once(std::uint64_t address, std::uint32_t size, Slot eligible, Slot data_ready) {
    if (!writes_at_once_ || !stores_.empty() || acquisitions_.notifications_wait() ||
        pm_space_.contains(address)) {
      return false;
    }
    const Slot ready = caches_.write_in_l1_untrained(Line::of(address));
    if (ready == kUnknownSlot) return false;
    drained_ = std::max(std::max(eligible, drained_) + cycle_, ready);
    stores_.pass(address, size, data_ready, drained_);
    return true;
  }
  // Requests the lines of retired stores ahead of time, so that their misses overlap.
  void request_lines_ahead();
  // Sends the contents of the write-combining buffers.
  void empty_buffers(Slot slot);
  // Records that a region has retired at `slot`. `until` is the number of the first store after the
  // region.
  void region_retired(std::uint64_t until, Slot began, Slot slot) {
    draining_regions_.add(until, began);
    draining_regions_.drained(stores_.head(), slot);
  }
  const RecentWaits& waits() const { return waits_; }

  ThreadSynchronisation& acquisitions() { return acquisitions_; }
  // Records an acquisition that has taken effect outside the queue.
  void acquired_early(const ThreadSynchronisation::EarlyAcquisition& acquisition, Slot slot) {
    acquisitions_.notify_later(acquisition);
    acquisitions_.notify_until(stores_.head(), slot);
  }

  // Rolls the thread back to the beginning of its region: discards all entries of the queue.
  void roll_back(Slot restart);

 private:
  // Each drain function returns false while the entry has to wait. Otherwise it moves `slot` to the
  // time at which the next entry may begin.
  bool drain_one(StoreEntry& entry, Slot& slot);
  bool drain_store(StoreEntry& entry, Slot& slot);
  bool drain_non_temporal(StoreEntry& entry, Slot& slot);
  bool drain_persist(StoreEntry& entry, Slot& slot);
  bool may_flush(StoreEntry& entry, Slot slot);
  bool in_flush_interval(StoreEntry& entry, Slot& slot);
  bool send_flush(const StoreEntry& entry, Slot slot);
  bool send_fence(const StoreEntry& entry, Slot slot);
  bool drain_atomic(StoreEntry& entry, Slot& slot);
  bool is_next_in_order(const StoreEntry& atomic);
  void complete_atomic_write(const StoreEntry& atomic, Slot slot);
  bool drain_acquire(StoreEntry& entry, Slot& slot);
  bool may_release(StoreEntry& entry, Slot& slot);
  bool drain_release(StoreEntry& entry, Slot& slot);
  bool drain_region(StoreEntry& entry, Slot& slot);
  bool ask_design(StoreEntry& entry, Time when);
  bool may_write(const StoreEntry& entry, Slot& slot);
  [[gnu::noinline]] bool may_write_through_port(const StoreEntry& entry, Slot& slot);
  bool has_port(Slot& slot) const;
  void flush_acknowledged(std::uint64_t, Time now);
  void region_takes_effect(const StoreEntry& entry);
  bool notify_layers(StoreEntry& entry, Slot& slot);
  void apply(const StoreEntry& entry, Slot slot);
  bool at_time(StoreEntry& entry, Step step, Slot slot);
  void resume_drain(std::uint64_t number, Time now);
  Completion resume_of_head() {
    return completion<&StoreQueueHead::resume_drain>(*this, stores_.head());
  }
  void count_wait(const StoreEntry& entry, Slot until, Cause cause);
  void count_wait(Slot from, Slot until, Cause cause);
  bool wait_for_log(StoreEntry& entry, Step step, Slot slot);
  void count_acquisition(const StoreEntry& entry, Slot until, Cause cause);
  void clear_wait();

  EventQueue& queue_;
  Hierarchy& hierarchy_;
  PmSpace& pm_space_;
  Synchronisation& synchronisation_;
  Design& design_;
  const ProgramEvents& program_events_;
  SpeculativeStores& speculative_stores_;
  Owner& owner_;
  PrivateCaches& caches_;
  MissRegisters& misses_;
  DataPort& port_;
  CoreStatistics& statistics_;
  const Clock clock_;
  const CoreId id_;
  const bool clwb_evicts_, one_store_at_a_time_;
  const CoreFaults faults_;
  const Slot cycle_, locked_latency_, flush_interval_;
  const bool ends_are_durable_;  // regions are durable at their end, without notification
  const bool rewinds_;           // true if the design may roll back regions
  const bool reports_stores_;    // true if a layer has requested kWrittenStores
  const bool writes_at_once_;
  CoreProfile* profile_ = nullptr;  // nullptr: the run isn't profiled

  StoreQueue stores_;
  std::uint64_t requested_ = 0;         // all stores before this number have requested their line
  std::uint64_t missing_ = UINT64_MAX;  // number of the head whose miss has held the port
  Slot drained_ = 0;
  Slot next_flush_ = 0;  // the earliest time of the next flush
  bool draining_ = false;
  std::uint64_t region_in_effect_ = 0;  // region whose begin, but not end, has left; 0: no region
  ThreadSynchronisation acquisitions_;
  DrainingRegions draining_regions_;
  RecentWaits waits_;
};

// Returns the parts of a wait for a release after the release had retired, by what was at the head
// of its core's store queue.
RecentWaits::Parts waits_behind(const Synchronisation::Release& release, Slot from, Slot until);

}  // namespace pmemsim
