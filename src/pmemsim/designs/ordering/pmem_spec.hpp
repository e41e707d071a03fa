// PMEM-Spec: strict persist ordering by speculation.
//
//   J. Jeong, C. Jung: PMEM-Spec: Persistent Memory Speculation (Strict Persistency Can Trump
//   Relaxed Persistency). ASPLOS 2021.
//
// The program has neither flushes nor fences that order, but has a spec-barrier where it makes
// durable (8.1). Numbers in brackets are the paper's sections. "Open" marks a decision of this
// model where the paper makes none. "Published" marks the paper's own rule where that rule is
// unsound and this model has another one.
//
// The paths
//   1  When a store to PM leaves the store queue, the L1 and its core's persist path receive it.
//      The path carries only the store's bytes: a whole line would contain other cores' words.
//      Stores of one core arrive in their order, and stores of different cores in any order (4.2).
//      One store enters per cycle (open: `store_interval`). The path buffers nothing (4.2): when
//      the controller has no room, the path is backed up. When the path is full of stores, the
//      store queue stalls (open: `path_stores`).
//   2  Dirty lines of PM that the shared cache evicts are dropped. The controller is notified of
//      the write-back, and of reads, which return the contents of PM at that time (4.2, 5.1).
//   3  Several controllers are an extension of this model (7 names them as a limitation). A path
//      ends before all of them. A store is offered to its controller when the path's previous store
//      has been accepted, and `controller_latency` later if another controller has accepted that
//      store. Stores of a core are therefore accepted in their order by all controllers together. A
//      line belongs to one controller, so each controller can check its own lines alone. All
//      controllers interrupt the same system.
//
// Durability
//   4  spec-barrier stalls until all earlier stores of its core have arrived and been acknowledged
//      to the core. It doesn't block volatile operations (8.2.1): loads and stores to DRAM
//      continue. The next store to PM, and all releases to other threads, stall (open:
//      `barrier_stops`).
//   5  A thread's release to other threads, of a lock or of an atomic variable's value, stalls
//      until the thread's stores have arrived. A store to an atomic variable in PM becomes visible
//      when it has arrived. Without this rule, thread B could acquire the lock of thread A, and
//      read a store of A in the caches. B's next store could then arrive before the store of A.
//      (5.2.2 relies on the detection of loads for this, which covers only reads from PM.
//      Published: nothing stalls; speculation IDs detect stores to the same line.)
//
// Misspeculation
//   6  The speculation buffers detect misspeculation (speculation_buffer.hpp). The window is as
//      long as the idle path times the number of cores (8.1). If stores enter the path at
//      intervals of more than a cycle, the longest wait of a store before the path is added to the
//      path's latency. While a path is backed up, windows stop (open: `backed_up_windows`).
//   7  A thread that acquires a lock gets the next speculation ID. Its stores carry that ID until
//      it has released its last lock; inner locks assign newer IDs (5.2.2; inner locks are open:
//      `inner_locks`). A region that rolls back under a lock gets a new ID, because its restoring
//      stores may carry a later ID than the region had at its begin.
//   8  When a speculation buffer overflows, all cores pause until the buffer has room (5.3). Stores
//      to PM may leave the store queues during the pause (open: `full_buffer_stops`).
//   9  A misspeculated line is recorded, and an interrupt is sent to the handler (6.1.1). Until
//      the handler has finished, further lines queue (open: `alarm_entries`; published: one
//      address). The handler marks the threads that are in regions (6.2). When the stores that were
//      in flight have arrived, the handler drops the stale line from all caches. (Published: the
//      line stays in the caches, and the region reads it again when it re-executes.)
//  10  A region checks its mark before its commit. It also checks at its end, because a read-only
//      region has no commit. The check stalls until the region's stores have arrived and no
//      interrupt is in flight. An unmarked region has then read no stale data. (6.2.1 checks before
//      the region ends, when an interrupt may still be in flight. Published: the check is at the
//      end alone, and doesn't stall.)
//  11  A marked thread rolls back to its region's begin when the region checks its mark (6.2.1), or
//      as soon as it is marked (6.2.2, eager). It stalls until its stores have arrived. Then it
//      writes the old contents, from the latest store to the earliest. The region re-executes when
//      these writes have arrived and no interrupt is in flight. While these writes are in flight,
//      reads of their lines from PM stall. Bytes that other threads have stored to since stay
//      unchanged, in PM, too: the rollback and the repeated stores write the bytes that are visible
//      (open: 6.2 has no such regions).
//  12  After `retries` rollbacks of a region, no thread speculates until the region has ended: a
//      store of any core becomes visible only when it has arrived. The region re-executes when all
//      earlier stores have arrived and no alarm is left. It can then read no stale data, and isn't
//      marked again. (Open. If only the region's own stores were delayed, it could read stale data
//      because of other threads' stores. If other threads were paused, the region could stall for a
//      lock that one of them holds.)
//  13  Without a log no rollback is possible: misspeculation is counted and reported.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/designs/interface/stale_lines.hpp"
#include "pmemsim/designs/ordering/core_pauses.hpp"
#include "pmemsim/designs/ordering/misspeculation_handler.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/ordering/pmem_spec_parameters.hpp"
#include "pmemsim/designs/ordering/pmem_spec_statistics.hpp"
#include "pmemsim/designs/ordering/speculation_buffers.hpp"
#include "pmemsim/designs/ordering/speculation_clock.hpp"
#include "pmemsim/designs/ordering/speculation_ids.hpp"

namespace pmemsim {

class PmemSpecOrdering final : public Ordering {
 public:
  struct Surroundings {
    std::uint32_t cores;
    std::uint32_t controllers;    // controllers with queues of their own
    Picoseconds acknowledgement;  // a controller's time for an acknowledgement
    bool regions;                 // true if regions have a log to roll back with
    // The purpose of the code whose ordering fence precedes a region's commit.
    trace::Purpose before_commit;
  };

  PmemSpecOrdering(const Surroundings& surroundings, const PmemSpecParameters& parameters);
  // PMEM-Spec, 8.1.
  static Storage storage(const PmemSpecParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context) override;
  Lowering lowering() const override;
  std::uint32_t interests() const override {
    return kStores | kVisibleStores | kLoads | kEvictions | kFetches | kSynchronisation |
           kReleases | kRegions | kRewind;
  }

  bool store(const Store& store, Time when, Completion resume) override;
  void visible(CoreId core, Line line) override;
  void restored(CoreId core, std::uint64_t address, std::uint32_t bytes) override;
  void load(const Load& load, Time when) override;
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  bool fence(const Fence& fence, Time when, Completion resume) override;
  void region_begin(CoreId core, std::uint64_t region) override;
  bool region_end(CoreId core, std::uint64_t region, Time when, Completion resume) override;
  bool release(CoreId core, Time when, Completion resume) override;
  void synchronised(CoreId core, trace::SyncKind kind, Time when) override;
  Delay lock_latency() const override { return picoseconds(parameters_.assign_latency.count); }
  Eviction evicted(Line line, const LineData& data, Time when) override;
  bool may_leave(Line) const override { return false; }
  bool fetch(CoreId core, Line line, Time when, Completion done) override;
  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

 private:
  // An acknowledgement's argument contains a core and a number of its stores.
  static constexpr unsigned kCoreShift = 56;

  // A store on a persist path.
  struct PathStore {
    Line line;
    ByteMask bytes;
    LineData data{};
    std::optional<std::uint32_t> id{};
    Time sent_at{};  // when the store left the store queue
    bool restores = false;
  };
  // A fence that isn't fulfilled yet.
  struct PendingFence {
    std::uint64_t until;  // number of the core's stores that must have arrived
    std::uint64_t number;
    bool barrier;  // true for a spec-barrier
  };
  // The condition that resumes a stalled store queue or a stalled core, and the stalled operation.
  enum class WaitsFor : std::uint8_t {
    kNothing,
    kPath,      // a store stalls for room on the path, and for spec-barriers
    kArrivals,  // a release or an atomic store stalls until all sent stores have arrived
    kCheck,     // a region's check stalls until they have, and no interrupt is in flight
    kRollback,  // a region that will roll back stalls until all sent stores have arrived
    kRestored,  // a region that has rolled back stalls for the same conditions as kCheck
  };
  struct PerCore {
    std::deque<PathStore> path;
    // Numbers of stores that have been sent, have arrived, and have been offered and accepted.
    std::uint64_t sent = 0, arrived = 0, offered = 0, accepted = 0;
    Time departs{};                   // earliest time at which the next store may enter the path
    Time accepted_at{};               // when the last accepted store was accepted
    std::uint32_t controller = 0;     // the last offered store's controller
    std::deque<PathStore> unchecked;  // offered stores to check on acceptance, in this order
    bool offering = false;            // true while a store is being offered to its controller
    bool backed_up = false;  // true while the next store can't be offered to its controller
    // True while the next store is delayed because it goes to another controller.
    bool changes_controller = false;
    std::deque<PendingFence> fences;
    std::uint32_t barriers = 0;        // number of spec-barriers in `fences`
    std::vector<std::uint64_t> ended;  // ended regions, until the spec-barriers are fulfilled
    LeavingStore leaving;
    bool early = false;    // true if `leaving` becomes visible after it has arrived
    bool entered = false;  // true if `leaving` has entered the path before it is visible
    WaitsFor waits_for = WaitsFor::kNothing;
    std::uint64_t wait_until = 0;  // number of stores that must have arrived
    Completion waiting;
    std::uint64_t acknowledged = 0;  // number of arrivals that the core has been notified of

    std::uint64_t region = 0;         // region in effect; 0: none
    std::uint64_t ending = 0;         // the region in effect, while its end is pending
    std::uint64_t aborted = 0;        // the last region that rolled back
    std::uint64_t ended_region = 0;   // the last region that ended
    std::uint64_t loaded_region = 0;  // the last region with retired loads
    bool marked = false;
    std::uint32_t aborts = 0;  // number of rollbacks of `aborted`
    // True after the last allowed rollback, until the region ends.
    bool speculation_disabled = false;
    bool speculates = false;       // true if `leaving` becomes visible before it arrives
    std::uint64_t speculated = 0;  // number of stores up to the last speculative one
    Time rollback_since{};
  };
  struct WaitingRead {
    Line line;
    Completion done;
  };

  // Persist paths.
  bool may_store(const PerCore& core) const;
  void enter(CoreId number, PathStore store);
  void arrive(std::uint64_t core, Time now);
  void offer_stores(std::uint64_t core, Time now);
  bool changes_controller(PerCore& core, Line line, Time now);
  void accepted(std::uint64_t core, Time now);
  void set_backed_up(PerCore& core, bool backed_up);
  // Stalls.
  bool is_acknowledged(PerCore& core, std::uint64_t stores);
  void schedule_acknowledgement(CoreId number);
  void acknowledged(std::uint64_t core_and_stores, Time now);
  void fulfil_fences(CoreId number);
  bool wait(CoreId number, WaitsFor what, Completion resume);
  bool may_continue(PerCore& core);
  void resume_waiting(std::uint64_t core, Time now);
  void enter_early(CoreId number);
  // Misspeculation.
  void check(const PathStore& store, Time now);
  void watch(Line line);
  void read_waiting(Line line);
  void core_resumed(std::uint64_t core, Time now);
  void mark_threads(std::uint64_t, Time now);
  void alarms_handled(std::uint64_t, Time now);
  // Rollback.
  bool check_region(CoreId number, Completion resume);
  void roll_back(std::uint64_t core, Time now);
  void rewind(CoreId number);
  void restart_region(std::uint64_t core, Time now);
  bool has_no_stale_lines() const;
  void region_completed(CoreId number);

  const Surroundings surroundings_;
  const PmemSpecParameters parameters_;
  std::vector<PerCore> cores_;
  std::optional<LayerContext> context_;
  Picoseconds store_interval_{}, acknowledgement_{}, window_{};
  std::size_t path_stores_ = 1;
  StaleLines stale_;
  LineTable<std::uint64_t> unreported_;  // by line: number of stale reads
  // By line: number of stores in flight that restore old contents.
  LineTable<std::uint64_t> restoring_;
  std::vector<WaitingRead> waiting_reads_;
  // Number of regions whose speculation is disabled; if any, no thread speculates.
  std::uint32_t without_speculation_ = 0;
  PmemSpecStatistics statistics_;
  CorePauses pauses_;
  SpeculationClock clock_;
  SpeculationIds ids_;
  SpeculationBuffers buffers_;
  MisspeculationHandler handler_;
};

}  // namespace pmemsim
