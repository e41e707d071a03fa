// The head of a core's store queue: where stores become visible, flushes leave, fences wait.
//
// An entry may need several steps, each at its own time (Step). While it waits for an event that
// will call resume_drain(), its step is the one at which it goes on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
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
#include "pmemsim/machine/cpu/miss_registers.hpp"
#include "pmemsim/machine/cpu/speculative_stores.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"

namespace pmemsim {

class StoreQueueHead {
 public:
  // The core.
  class Owner {
   public:
    // A serialising entry has left the queue, whose entry in the reorder buffer is that.
    virtual void left(std::uint32_t rob, Slot slot) = 0;
    // The queue is empty, or its head waits.
    virtual void stopped() = 0;
    // An event has let the head go on.
    virtual void resumed() = 0;
    // The end of the oldest region that could be taken back has left the queue.
    virtual void region_over() = 0;

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
  // A lock that was taken before the stores in front of it had left the store queue: the layers are
  // notified of it in its order with those.
  struct EarlyAcquisition {
    std::uint64_t store;  // the first behind it
    std::uint64_t address;
    trace::SyncKind kind;
  };

  StoreQueueHead(const Parts& parts, Owner& owner, const Clock& clock,
                 const CoreParameters& parameters, CoreId id, LockOrder lock_order,
                 MissRegisters& misses, CoreStatistics& statistics);

  StoreQueue& stores() { return stores_; }
  bool draining() const { return draining_; }
  // When the last entry has left.
  Slot drained() const { return drained_; }
  std::uint64_t region_in_effect() const { return region_in_effect_; }

  // What an entry at the head is and what it waits for, in words.
  static std::string waiting_for(const StoreEntry& head);

  // Before the thread's first entry.
  void begin(Slot slot) { drained_ = slot; }
  // Lets entries leave, as far as they can.
  void drain();
  // Stores ask for their line when they retire, so that their misses overlap.
  void ask_ahead();
  // Sends what write-combining buffers hold.
  void empty_buffers(Slot slot);
  // A region has retired at `slot`. `until`: the number of the store behind its last one.
  void region_retired(std::uint64_t until, Slot began, Slot slot);
  // How much of an interval the head spent waiting for that: tells a fence from a mere lack of
  // room.
  Slot overlap(Slot from, Slot until, Cause cause) const;

  // False if it has to wait, for `resume`.
  bool acquire(trace::SyncKind kind, std::uint64_t address, std::uint32_t object,
               std::uint32_t version, Completion resume);
  // The acquisition of that number has taken effect outside the queue.
  void acquired_early(const EarlyAcquisition& acquisition, std::uint32_t number, Slot slot);
  // Has that acquisition taken effect before its thread was taken back?
  bool has_ever_acquired(std::uint32_t number) const { return number <= ever_acquired_; }
  Slot lock_latency(trace::SyncKind kind) const { return trace::is_lock(kind) ? lock_latency_ : 0; }

  // The thread goes back to where its region began: forgets all that is in the queue.
  void take_back(Slot restart);

 private:
  // Each returns false while the entry has to wait, and moves `slot` to where the next entry may
  // begin.
  bool drain_one(StoreEntry& entry, Slot& slot);
  bool drain_store(StoreEntry& entry, Slot& slot);
  bool drain_non_temporal(StoreEntry& entry, Slot& slot);
  bool drain_persist(StoreEntry& entry, Slot& slot);
  bool may_flush(StoreEntry& entry, Slot slot);
  bool send_flush(const StoreEntry& entry, Slot slot);
  bool send_fence(const StoreEntry& entry, Slot slot);
  bool drain_atomic(StoreEntry& entry, Slot& slot);
  bool has_its_turn(const StoreEntry& atomic);
  void atomic_has_written(const StoreEntry& atomic, Slot slot);
  bool drain_acquire(StoreEntry& entry, Slot& slot);
  void tell_of_acquisition(trace::SyncKind kind, std::uint64_t address, Slot slot);
  bool may_release(StoreEntry& entry, Slot& slot);
  void give(const StoreEntry& entry, Slot slot);
  bool drain_release(StoreEntry& entry, Slot& slot);
  bool drain_region(StoreEntry& entry, Slot& slot);
  bool ask_design(StoreEntry& entry, Time when);
  bool may_write(const StoreEntry& entry, Slot& slot);
  void region_takes_effect(const StoreEntry& entry);
  bool tell_layers(StoreEntry& entry, Slot& slot);
  void apply(const StoreEntry& entry);
  static bool wait(StoreEntry& entry, Step step);
  bool at_time(StoreEntry& entry, Step step, Slot slot);
  void resume_drain(std::uint64_t number, Time now);
  Completion resume_of_head() {
    return completion<&StoreQueueHead::resume_drain>(*this, stores_.head());
  }
  void release_later(const StoreEntry& entry, Slot slot);
  void release_now(std::uint64_t packed, Time now);
  void waited(const StoreEntry& entry, Slot until, Cause cause);
  void tell_of_early_acquisitions(Slot slot);
  void count_drained_region(Slot began, Slot slot);
  void forget_wait();
  static bool has_acquired(const StoreEntry& head);

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
  CoreStatistics& statistics_;
  const Clock clock_;
  const CoreId id_;
  const LockOrder lock_order_;
  const bool clwb_evicts_, one_store_at_a_time_;
  const Slot cycle_, locked_latency_, lock_latency_;
  const bool ends_are_durable_;  // regions', without the design's saying so
  const bool rewinds_;           // the design may

  StoreQueue stores_;
  std::uint64_t asked_ = 0;  // the stores before this one have asked for their line
  Slot drained_ = 0;
  bool draining_ = false;
  std::uint64_t region_in_effect_ = 0;  // whose begin, and not its end, has left; 0: none
  // What takes something from other threads, and what gives something to them, has a number: the
  // last that ever took effect. Those up to there are done again by a thread that was taken back.
  std::uint32_t ever_acquired_ = 0, ever_released_ = 0;
  std::deque<EarlyAcquisition> early_acquisitions_;
  // A region whose end has retired while some of its stores are still in the queue.
  struct DrainingRegion {
    std::uint64_t until;  // number of the store behind its last one
    Slot began;
  };
  std::deque<DrainingRegion> draining_regions_;
  // What the head has waited for lately.
  struct Wait {
    Slot from = 0, until = 0;
    Cause cause = Cause::kStoreQueue;
  };
  std::array<Wait, 16> waits_{};
  std::size_t next_wait_ = 0;
};

}  // namespace pmemsim
