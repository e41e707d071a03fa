// An out-of-order core, modelled as a window that moves over one thread's recorded operations.
//
// The core isn't simulated cycle by cycle. For each operation the model computes four points in
// time: dispatch (limited by width, reorder buffer, queues and mispredicted branches), readiness of
// the operands (register dependences from the trace, store-to-load forwarding), completion and
// retirement. While operations need nothing outside the core, the model only computes with slots
// (clock.hpp), for hundreds of operations in a row. An operation whose completion is not yet known
// (a miss, a lock) keeps its entry in the window. Operations that depend on it are in its list of
// waiters. All other operations proceed until the reorder buffer is full. Later an event supplies
// the missing time, and the window moves on.
//
// Stores, flushes, fences and locked instructions take effect in program order from the store
// queue, after they have retired (x86-TSO; Intel SDM vol. 3A, ch. 9.2, and the descriptions of
// CLWB, SFENCE and MFENCE). Stores wait for their line, which they request when they retire. A
// flush sends its line to memory. SFENCE waits until the ordering layer releases it. MFENCE and
// locked instructions also block younger loads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/analysis/races.hpp"
#include "pmemsim/common/clock.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/designs/interface/lowered_stream.hpp"
#include "pmemsim/designs/interface/program_events.hpp"
#include "pmemsim/machine/cache/hierarchy.hpp"
#include "pmemsim/machine/cpu/branch_unit.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/core_profile.hpp"
#include "pmemsim/machine/cpu/core_statistics.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"
#include "pmemsim/machine/cpu/data_port.hpp"
#include "pmemsim/machine/cpu/decoded_sites.hpp"
#include "pmemsim/machine/cpu/held_locks.hpp"
#include "pmemsim/machine/cpu/instruction_window.hpp"
#include "pmemsim/machine/cpu/load_unit.hpp"
#include "pmemsim/machine/cpu/miss_registers.hpp"
#include "pmemsim/machine/cpu/race_order.hpp"
#include "pmemsim/machine/cpu/retirement_reports.hpp"
#include "pmemsim/machine/cpu/speculative_stores.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"
#include "pmemsim/machine/cpu/store_queue_head.hpp"
#include "pmemsim/machine/cpu/synchronisation.hpp"
#include "pmemsim/machine/cpu/time_attribution.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

class Core final : public CacheClient, private StoreQueueHead::Owner {
 public:
  using Parts = StoreQueueHead::Parts;

  Core(const Parts& parts, const Clock& clock, const CoreParameters& parameters,
       const TlbParameters& tlb, const PrefetchParameters& prefetch, CoreId id,
       LockOrder lock_order);

  // Assigns a thread to the core and starts it at the queue's current time. `decoded` and `races`
  // belong to the recording and must outlive the core. `first_race_object` is the number of the
  // first synchronisation object that keeps the order of races between threads of this copy.
  void run(const trace::TraceFile& file, const DecodedSites& decoded, const trace::Races& races,
           std::uint32_t thread, const ProgramCopy& copy, std::uint32_t first_race_object);

  void filled(Line line, LineState state, Time when, Source source) override;

  // Thread control for designs, as specified in designs/interface/thread_control.hpp.
  void pause();
  void resume();
  bool in_region() const { return store_head_.region_in_effect() != 0; }
  void rewind();

  bool finished() const { return finished_; }
  Time end() const { return clock_.time(retire_); }
  // Time at which the core had read half of its operations.
  Time end_of_first_half() const { return clock_.time(first_half_); }
  // Charges the core's time to lines of the program, from now on; before the run.
  void profile(TimeProfile& profile, const CoreParameters& parameters, bool alone);
  std::uint64_t operations_read() const { return stream_ ? stream_->position() : 0; }
  const CoreStatistics& statistics() const { return statistics_; }
  const CycleAccount& account() const { return time_.account(); }
  const Clock& clock() const { return clock_; }
  // Describes what the core waits for, for a StuckError.
  std::string waiting_for() const;

 private:
  static constexpr std::uint32_t kNoEntry = InstructionWindow::kNoEntry;

  using Kind = InstructionWindow::Kind;
  using State = InstructionWindow::State;
  using Entry = InstructionWindow::Entry;

  // Front end (core_front_end.cpp): reading operations, free entries in the window, dispatch.
  void advance();
  bool next_operation();
  void profile_operation();
  void profile_end(Slot drained);
  CoreProfile::FrontEnd front_end() const;
  void finish();
  bool end_time_slice();
  void schedule_wake();
  void wake(std::uint64_t, Time now);
  bool dispatch(const trace::Operation& operation, bool waits);
  bool dispatch_load(const trace::Operation& operation, bool waits);
  bool dispatch_store(const trace::Operation& operation, bool waits);
  void set_version(std::uint32_t entry, const trace::Operation& operation);
  StoreKind store_kind(const trace::Operation& operation) const;
  bool dispatch_branch(const trace::Operation& operation);
  void block_at(const trace::Operation& branch);
  bool dispatch_recurrence(const trace::Operation& operation);
  bool dispatch_plain(const trace::Operation& operation, Kind kind);
  // True if the reorder buffer has room for these instructions and the code before them.
  bool has_entry(std::uint32_t instructions) {
    return window_.free_entries(instructions + instructions_without_entry_, dispatch_);
  }
  bool has_entry(const trace::Operation& operation) { return has_entry(operation.instructions); }
  // True if the store queue also has this number of free entries.
  bool has_store_entries(const trace::Operation& operation, std::uint32_t stores) {
    return has_store_entries(operation.instructions, stores);
  }
  bool has_store_entries(std::uint32_t instructions, std::uint32_t stores) {
    if (!has_entry(instructions) || !stores_.has_free_entries(stores)) return false;
    if (stores_.free_since(stores) > dispatch_) [[unlikely]]
      wait_for_store_entries(stores);
    return true;
  }
  void wait_for_store_entries(std::uint32_t stores);
  void delay_dispatch(Slot until, Cause cause);
  // The fields of an operation that its entries in the window and the store queue contain.
  struct Part {
    std::uint64_t address;
    const std::byte* value;  // nullptr: it writes nothing
    std::uint32_t site;
    std::uint32_t instructions;
    std::uint8_t size;
  };
  static Part part_of(const trace::Operation& operation) {
    return {operation.address, operation.value, operation.site, operation.instructions,
            operation.size};
  }
  std::uint32_t new_entry(const trace::Operation& operation, Kind kind) {
    return new_entry(part_of(operation), kind);
  }
  std::uint32_t new_entry(const Part& operation, Kind kind);
  static std::uint32_t stores_of(const trace::Operation& operation);
  StoreEntry& new_stores(std::uint32_t entry, StoreKind kind, const trace::Operation& operation);
  StoreEntry& new_store(std::uint32_t entry, StoreKind kind, const trace::Operation& operation);
  [[gnu::noinline]] StoreEntry& push_store(std::uint32_t entry, StoreKind kind, Part operation,
                                           bool writes);
  bool forward(std::uint32_t entry);
  void start(std::uint32_t entry);

  // Straight-line code (core_straight_line.cpp).
  bool pass_straight_line(Slot limit);
  std::size_t pass_load(const DecodedSites::Site& site, std::uint32_t number,
                        const std::byte* payload);
  std::size_t pass_store(const DecodedSites::Site& site, std::uint32_t number,
                         const std::byte* payload, const std::byte* end);
  bool pass_branch(std::uint32_t instructions, std::uint32_t number, bool taken);
  bool pass_return(std::uint32_t instructions);
  bool pass_recurrence(std::uint32_t instructions, std::uint32_t number, bool iterates);
  bool recur_at_once(Part value, std::span<const Dependence> dependences);
  bool load_at_once(const trace::Operation& operation);
  bool store_at_once(const trace::Operation& operation);
  bool load_at_once(Part load, std::span<const Dependence> dependences);
  bool store_at_once(Part store, std::span<const Dependence> dependences);
  // True if the next operation with an entry counts these instructions.
  bool needs_no_entry(std::uint32_t instructions) const {
    return instructions_without_entry_ + instructions < rob_entries_ / 4;
  }
  std::uint32_t pass_at_once(std::uint32_t instructions, Slot done);
  [[gnu::noinline]] std::uint32_t enter_complete(Part operation, Kind kind, Slot done);
  bool retires_at_once() const { return window_.empty() && !paused_; }
  void retire_at_once(Slot done, std::uint32_t instructions);
  // Returns when the operands of the next operation are ready, which is not before its dispatch or
  // `earliest`; kNotComplete or later if that isn't known yet.
  Slot operands_ready(std::span<const Dependence> dependences, std::uint32_t instructions,
                      Slot earliest) const {
    const Slot dispatched = dispatch_ + instructions + instructions_without_entry_;
    return window_.operands_ready(dependences, std::max(dispatched, earliest));
  }

  // Operations that order others (core_ordered_operations.cpp).
  bool dispatch_through_stores(const trace::Operation& operation, StoreKind kind, bool serialising);
  bool blocks_loads(const trace::Operation& operation, StoreKind kind) const;
  bool dispatch_synchronisation(const trace::Operation& operation);
  bool dispatch_annotated_lock(const trace::Operation& operation);
  bool dispatch_acquire(const trace::Operation& operation);
  bool dispatch_mark(const trace::Operation& operation);
  void end_region_with_its_last_store();
  bool dispatch_hint(const trace::Operation& operation);

  // Execution and retirement (core_execution.cpp).
  void execute(std::uint32_t index);
  void load(std::uint32_t index);
  void retry(const std::vector<std::uint32_t>& loads);
  void retry_loads_at_port() {
    if (loads_.any_may_use_port()) retry(loads_.take_at_port(clock_.slot(queue_.now())));
  }
  [[gnu::noinline]] void await_version(std::uint32_t index);
  void version_due(std::uint64_t index, Time now);
  void version_reached(std::uint64_t index, Time now);
  void wait_is_over(std::uint32_t index, Slot until, Cause cause);
  void complete(std::uint32_t index, Slot slot);
  // Retires operations from the oldest on, up to the first one that isn't complete.
  void retire() {
    const bool waits = !window_.empty() && window_.oldest_waits();
    if (!waits || races_.any_reached()) retire_in_order();
  }
  void retire_in_order();
  template <bool kProfiled>
  void retire_all();
  bool start_oldest(Entry& entry);
  bool start_serial(Entry& entry);
  void start_acquire(Entry& entry);
  void acquire_due(std::uint64_t index, Time now);
  void acquired(std::uint64_t index, Time now);
  void write_lock();
  void retired(Entry& entry);
  [[gnu::noinline]] void region_retired(const Entry& end);
  [[gnu::noinline]] void notify_stores(const Entry& retired);

  // Calls from the store queue's head.
  void left_store_queue(std::uint32_t rob, Slot slot) override { complete(rob, slot); }
  void drain_stopped() override {
    if (races_.any_reached()) races_.release(progress());
  }
  void store_written(const StoreEntry& store, Slot slot) override { reports_.written(store, slot); }
  void drain_resumed() override {
    retire();
    retry_loads_at_port();
    advance();
  }
  void region_drained() override { region_starts_.pop_front(); }

  // Races.
  void race_over(std::uint64_t, Time now);
  RaceOrder::Progress progress() {
    return {window_.head(), window_.tail(), stores_.head(), stores_.tail(),
            clock_.time(std::max(retire_, store_head_.drained()))};
  }

  // Pausing, and rolling back to the beginning of a region (core_rewind.cpp).
  void discard_in_flight(Slot restart);
  void undo_statistics();

  EventQueue& queue_;
  Hierarchy& hierarchy_;
  PmSpace& pm_space_;
  Synchronisation& synchronisation_;
  Design& design_;
  const ProgramEvents& program_events_;
  PrivateCaches& caches_;
  const Clock clock_;
  const CoreId id_;
  const LockOrder lock_order_;
  const std::uint32_t rob_entries_;
  const bool full_fences_, arm_locks_, loads_pass_locks_;
  const Slot cycle_, forward_latency_, locked_latency_, branch_penalty_, time_slice_;
  const Picoseconds run_ahead_;
  const bool ends_are_durable_;  // regions are durable at their end, without notification
  const bool rewinds_;           // true if the design may roll back regions
  const std::uint32_t hint_instructions_;

  CoreStatistics statistics_;

  // State of the thread.
  std::unique_ptr<LoweredStream> stream_;
  const trace::SiteTable* sites_ = nullptr;
  const DecodedSites* decoded_ = nullptr;
  std::uint64_t address_offset_ = 0;
  trace::Operation operation_;
  bool has_operation_ = false;
  bool at_end_ = false;
  bool finished_ = false;
  std::uint64_t region_ = 0;  // number of the outermost region that began last
  bool in_region_ = false;
  HeldLocks locks_;
  RaceOrder races_;
  RetirementReports reports_;

  // Regions that have been dispatched and whose end has not left the store queue. Recorded only if
  // the design may roll back regions.
  struct RegionStart {
    std::uint64_t region;
    LoweredStream::SavedPosition position;
    std::uint32_t locks_held;
    std::uint32_t acquired, released;  // numbers of the last ones before the region
    std::uint64_t calls;               // calls that had not returned
    bool end_retired = false;
    Picoseconds time{};  // duration of the region, once its end has retired
  };
  std::deque<RegionStart> region_starts_;
  // Numbers of the last acquisition and of the last release that have been dispatched.
  // ThreadSynchronisation has the numbers of the last ones that have ever taken effect.
  std::uint32_t dispatched_acquires_ = 0, dispatched_releases_ = 0;
  bool paused_ = false;
  Slot paused_since_ = 0;

  // State of the front end.
  Slot dispatch_ = 0;
  std::uint64_t half_ = 0;  // half of the operations; RaceOrder::kNever once they have been read
  Slot first_half_ = 0;     // when they had been read
  Slot slice_ends_;
  Slot delay_ = 0;
  Cause delay_cause_ = Cause::kBase;
  std::uint32_t blocking_branch_ = kNoEntry;
  std::uint32_t instructions_without_entry_ = 0;
  bool advancing_ = false;
  bool wake_scheduled_ = false;
  BranchUnit branches_;

  InstructionWindow window_;
  Slot retire_ = 0;
  std::vector<std::uint32_t> ready_;  // entries that can execute
  bool executing_ = false, retiring_ = false;
  std::uint32_t barrier_entry_ = kNoEntry;  // the latest serialising operation
  Slot barrier_ = 0;
  // State of the oldest instruction while it acquires a lock without passing through the store
  // queue.
  enum class Acquiring : std::uint8_t { kNot, kLock, kLine };
  Acquiring acquiring_ = Acquiring::kNot;

  MissRegisters misses_;
  DataPort port_;

  StoreQueueHead store_head_;
  StoreQueue& stores_;
  LoadUnit loads_;

  TimeAttribution time_;
  std::unique_ptr<CoreProfile> profile_;  // nullptr: the run isn't profiled
};

}  // namespace pmemsim
