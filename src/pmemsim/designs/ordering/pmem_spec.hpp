// PMEM-Spec: strict persist ordering by speculation.
//
//   J. Jeong, C. Jung: PMEM-Spec: Persistent Memory Speculation (Strict Persistency Can Trump
//   Relaxed Persistency). ASPLOS 2021.
//
// The program has neither flushes nor fences that order, but a spec-barrier where it makes durable
// (8.1). Numbers in brackets are the paper's sections; what it leaves open, or unsound, says so.
//
// The paths
//   1  A store to PM that leaves the store queue goes to the L1 and down its core's persist path:
//      its bytes, not the line, which would carry other cores' words with it. Stores of a core
//      arrive in their order, those of different cores in any order (4.2). One enters a cycle
//      (open: `store_interval`). The path buffers nothing (4.2): when the controller has no room,
//      it is backed up, and when it is full of stores, the store queue waits (open:
//      `path_stores`).
//   2  Dirty lines of PM that the shared cache evicts are dropped; the controller is told of the
//      write-back, and of reads, which get what PM has then (4.2, 5.1).
//   3  Several controllers (7: a limitation; this is an extension). A path ends before all of them.
//      A store is given to its controller when the one before it has been accepted by its own, and
//      `controller_latency` later if that was another one. So stores of a core are accepted in
//      their order, wherever they go. A line belongs to one controller, so each can detect what
//      concerns its lines by itself; all interrupt the same system.
//
// Durability
//   4  spec-barrier waits until all earlier stores of its core have arrived and the core has heard
//      of that. It doesn't block volatile operations (8.2.1): loads and stores to DRAM go on; the
//      next store to PM, and whatever is handed over to other threads, wait (open:
//      `barrier_stops`).
//   5  What a thread hands over to others, a lock or the value of an atomic variable, waits until
//      its stores have arrived; an atomic variable in PM is written when its value has. Otherwise a
//      thread could read another's store in the caches, under its lock, and its own next store
//      could arrive before that one. (5.2.2 leaves this to the detection of loads, which sees only
//      what is read from PM. Published: nothing waits; speculation IDs find stores to the same
//      line.)
//
// Misspeculation
//   6  The speculation buffers find out (speculation_buffer.hpp). The window is as long as the idle
//      path times the cores (8.1), with what stores may wait where they enter it slowly. While a
//      path is backed up, windows stand still (open: `backed_up_windows`).
//   7  Whoever takes a lock gets the next speculation ID, which its stores carry until it has given
//      back its last lock; inner locks bring newer IDs (5.2.2; inner locks are open:
//      `inner_locks`). A region that goes back under a lock gets a new one, for what it has
//      restored may carry a later one than it began with.
//   8  When a buffer overflows, all cores pause until it doesn't (5.3; whether stores to PM leave
//      store queues meanwhile is open: `full_buffer_stops`).
//   9  A misspeculated line is written down, and an interrupt comes to the handler (6.1.1); lines
//      found meanwhile queue (open: `alarm_entries`; published: one address). The handler marks
//      the threads that are in regions (6.2), and drops the line from all caches, where it is as
//      stale as it was read, once the stores that were under way have arrived. (Published: it
//      stays, and the region, executed again, hits it.)
//  10  A region looks at its mark before its commit, and at its end, for a region that has only
//  read
//      has no commit; it waits until its stores have arrived and no interrupt is under way. By then
//      all that it has read is known to have been right. (6.2.1 looks before the region ends, when
//      an interrupt may still be under way. Published: at the end alone, at once.)
//  11  A marked thread goes back to where its region began (6.2.1), or does so as soon as it is
//      marked (6.2.2, eager). It waits until its stores have arrived; then it writes what was there
//      before, the latest store first; when that has arrived, and no interrupt is under way, it
//      begins again. Lines that it writes then count as being in the caches: reads of them wait.
//      Bytes that others have stored to since stay as they are, in PM, too: what is written, and
//      then stored again, is what is visible there (open: 6.2 has no such regions).
//  12  After `retries` times, nobody speculates until the region is over: stores of all cores
//      become visible when they have arrived. It begins again when those before have, and no alarm
//      is left; then nothing can be stale that it reads, and it isn't marked any more. (Open. If
//      only its own stores waited, it could read what others' have left stale. To keep other
//      threads out meanwhile could be waiting for what they hold.)
//  13  Without a log there is nothing to go back with: misspeculation is counted and reported.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/designs/interface/stale_lines.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/ordering/pmem_spec_parameters.hpp"
#include "pmemsim/designs/ordering/speculation_buffer.hpp"

namespace pmemsim {

class PmemSpecOrdering final : public Ordering {
 public:
  struct Surroundings {
    std::uint32_t cores;
    std::uint32_t controllers;    // that have queues of their own
    Picoseconds acknowledgement;  // a controller's time for one
    bool regions;                 // have a log to go back with
    // The code whose ordering fence stands before a region's commit.
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
  // A core with a number of its stores, for acknowledgements.
  static constexpr unsigned kCoreShift = 56;

  // On a persist path.
  struct Travelling {
    Line line;
    ByteMask bytes;
    LineData data{};
    std::optional<std::uint32_t> id{};
    Time left{};  // the store queue
    bool restores = false;
  };
  // A fence that isn't fulfilled.
  struct PendingFence {
    std::uint64_t until;  // so many stores of the core must have arrived
    std::uint64_t number;
    bool barrier;  // a spec-barrier
  };
  // What the head of a core's store queue, or the core itself, waits for.
  enum class WaitsFor : std::uint8_t {
    kNothing,
    kRoom,      // on the path, and for spec-barriers: a store
    kArrivals,  // of all that has left: what is handed over, an atomic store
    kCheck,     // those, and interrupts: a region that may have to go back
    kGoesBack,  // those: a region that will
    kRestored,  // as kCheck: a region that has gone back
  };
  struct PerCore {
    std::deque<Travelling> path;
    std::uint64_t left = 0, arrived = 0, given = 0, accepted = 0;  // stores
    Time departs{};                                                // the next, at the soonest
    Time accepted_at{};                                            // the last that was
    std::uint32_t controller = 0;                                  // its
    std::deque<Travelling> unchecked;  // given, and looked at when accepted, in this order
    bool giving = false;               // a store to its controller, just now
    bool backed_up = false;            // the controller doesn't take the next
    bool changes_controller = false;   // the next waits, for it goes to another controller
    std::deque<PendingFence> fences;
    std::uint32_t barriers = 0;        // of these
    std::vector<std::uint64_t> ended;  // regions, until those are over
    LeavingStore leaving;
    bool early = false;    // that store becomes visible after it has arrived
    bool entered = false;  // ... and has gone down the path
    WaitsFor waits_for = WaitsFor::kNothing;
    std::uint64_t wait_until = 0;  // so many stores have arrived
    Completion waiting;
    std::uint64_t heard = 0;  // of so many arrivals

    std::uint64_t region = 0;         // in effect; 0: none
    std::uint64_t ending = 0;         // the same, at its end
    std::uint64_t aborted = 0;        // the last that went back
    std::uint64_t ended_region = 0;   // the last
    std::uint64_t loaded_region = 0;  // the last that loads have retired of
    bool marked = false;
    std::uint32_t aborts = 0;           // of that
    bool gives_up_speculation = false;  // from when it has gone back too often until it is over
    bool speculates = false;            // a store will be visible before it arrives
    std::uint64_t speculated = 0;       // of so many stores, the last that was
    Time goes_back_since{};
    std::uint32_t pauses = 0;

    std::optional<std::uint32_t> id;  // the speculation ID register
    std::uint32_t locks = 0;
    std::uint32_t locks_at_begin = 0;  // of the region in effect
    bool id_at_begin = false;          // was there one?
  };
  struct Alarm {
    Line line;
    Time until;  // by the windows' clock: what was under way has arrived then
  };
  struct WaitingRead {
    Line line;
    Completion done;
  };
  struct Statistics {
    std::uint64_t stores = 0, write_backs = 0, controller_changes = 0, late_persists = 0;
    std::uint64_t load_alarms = 0, false_load_alarms = 0, store_alarms = 0, false_store_alarms = 0;
    std::uint64_t stale_reads = 0, missed_stale_reads = 0, unrepaired_loads = 0;
    std::uint64_t lost_alarms = 0, interrupts = 0, aborts = 0, without_speculation = 0,
                  assigned = 0;
    std::uint64_t overflows = 0;
    Picoseconds overflow_time{}, backed_up_time{}, abort_time{};
    template <class Visitor>
    void describe(Visitor& visit) const;
  };

  // The paths.
  bool may_store(const PerCore& core) const;
  void enter(CoreId number, Travelling store);
  void arrive(std::uint64_t core, Time now);
  void give(std::uint64_t core, Time now);
  bool changes_controller(PerCore& core, Line line, Time now);
  void accepted(std::uint64_t core, Time now);
  void set_backed_up(PerCore& core, bool backed_up);
  Picoseconds window() const;
  Time window_time() const;
  // Waiting.
  bool knows(PerCore& core, std::uint64_t stores);
  void hear_later(CoreId number);
  void heard(std::uint64_t core_and_stores, Time now);
  void fulfil_fences(CoreId number);
  bool wait(CoreId number, WaitsFor what, Completion resume);
  bool may_go_on(PerCore& core);
  void go_on(std::uint64_t core, Time now);
  void leave_early(CoreId number);
  // Misspeculation.
  SpeculationBuffer& buffer_of(Line line) { return buffers_[context_->pm.channel_of(line)]; }
  void assign(PerCore& core);
  void write_back(std::uint64_t line, Time now);
  void check(const Travelling& store, Time now);
  void alarm(Line line);
  void interrupt(std::uint64_t, Time now);
  void handle_alarms(std::uint64_t, Time now);
  bool is_settled(const Alarm& alarm);
  void mark_threads();
  void watch(Line line);
  void read_waiting(Line line);
  void pause_if_full();
  void look_again_when_free(const SpeculationBuffer& buffer);
  void resume_when_free(std::uint64_t, Time now);
  void pause(CoreId core);
  void resume(CoreId core);
  // Going back.
  bool check_region(CoreId number, Completion resume);
  void go_back(std::uint64_t core, Time now);
  void rewind(CoreId number);
  void begin_again(std::uint64_t core, Time now);
  bool nothing_is_stale() const;
  void region_over(CoreId number);

  const Surroundings surroundings_;
  const PmemSpecParameters parameters_;
  std::vector<PerCore> cores_;
  std::vector<SpeculationBuffer> buffers_;  // by controller
  std::optional<LayerContext> context_;
  Picoseconds store_interval_{}, acknowledgement_{}, window_{};
  Picoseconds look_again_{};  // after so long, where nobody tells when it is time
  std::size_t path_stores_ = 1;
  StaleLines stale_;
  LineTable<std::uint64_t> unreported_;  // by line: stale reads
  LineTable<std::uint64_t> restoring_;   // by line: stores under way that restore what was there
  std::vector<WaitingRead> waiting_reads_;
  std::vector<Alarm> alarms_;
  bool interrupt_ = false;  // is under way, or its handler runs
  std::uint32_t next_id_ = 0;
  std::uint32_t without_speculation_ = 0;  // regions that have given it up: then nobody speculates
  std::uint32_t backed_up_ = 0;            // paths
  Time backed_up_since_{};
  bool paused_ = false;
  Time paused_since_{};
  Statistics statistics_;
};

}  // namespace pmemsim
