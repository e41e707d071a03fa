// A design: the four layers of one run. Core, caches, memory, oracle and command line use the
// design, and depend on no particular layer. Only this class defines:
//   - the order in which the layers are called, and their interests;
//   - the parts of a recording that the design's program keeps;
//   - pending work, and the recovery after a crash.
// The backend's parts define the device's contents before the run, and what survives a crash
// (designs/backend/backend_parts.hpp).
//
//   1  The atomicity layer is called first: a log must have a line's old contents before the
//      ordering layer may send the line anywhere. The ordering layer doesn't receive a
//      call that the atomicity layer takes, delays or answers.
//   2  The program consists of the parts that both layers keep.
//   3  A layer receives only the calls that it is interested in. Some calls need no interest. The
//      ordering layer always answers flushes and fences. Context switches and the crash engine's
//      queries are too rare for a check to save time.
//   4  The backend's operations recover an image before the atomicity layer's procedure reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"
#include "pmemsim/designs/interface/interest.hpp"
#include "pmemsim/designs/interface/lowering.hpp"
#include "pmemsim/designs/interface/retired_events.hpp"
#include "pmemsim/designs/interface/store.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

class Backend;
class CachePort;
class Clock;
class HintObserver;
class Memory;
class PmSpace;
class ProgramEvents;
class ThreadControl;
class WriteObserver;

// The last layer that was called for a store or a region's end.
enum class LayerAsked : std::uint8_t { kNone, kAtomicity, kOrdering };

class Design {
 public:
  // Throws Error if a row lacks a need that its layer has.
  Design(const Blueprint& blueprint, EventQueue& queue, Memory& pm);
  Design(const Design&) = delete;
  Design& operator=(const Design&) = delete;
  ~Design();

  // Called once, before the run.
  void connect(EventQueue& queue, const Clock& clock, CachePort& caches, Memory& dram,
               PmSpace& pm_space, const ProgramEvents& program_events, ThreadControl& threads);

  const Promises& promises() const { return promises_; }
  const Lowering& lowering() const { return lowering_; }
  // Registers observers, before the run: of the outcomes of hints, and of the time that writes
  // spend waiting for the backend's operations.
  void observe(HintObserver* hints, WriteObserver* writes);
  // True if a crash may leave lines that unfinished regions have written unreadable.
  bool may_leave_unreadable() const { return may_leave_unreadable_; }
  // Keeps this line readable after a crash: its metadata entry persists together with its data.
  void require_readable(Line line);
  // True if some layer is interested in some of these calls.
  bool wants(std::uint32_t calls) const { return interests_.include(calls); }
  // True if instructions after a region's end may not execute before region_end() has resumed.
  bool commits_synchronously() const { return commits_synchronously_; }

  // ---- From the cores' store queues, in each core's program order. A call that returns false
  // stalls the store queue until `resume`.

  // Must be called again after each `resume`, with the same `asked`.
  bool store(LayerAsked& asked, const Store& store, Time when, Completion resume);
  void visible(CoreId core, Line line);
  // True if a flush may continue. Called before the flush reaches its core's own caches.
  bool may_flush(CoreId core, Line line, Time when, Completion resume);
  bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
             Completion resume);
  void non_temporal(CoreId core, Line line, ByteMask bytes, Time when);
  bool fence(CoreId core, trace::FenceMeaning meaning, Time when, Completion resume);
  bool region_begin(CoreId core, std::uint64_t region, Time when, Completion resume);
  // Must be called again after each `resume`, with the same `asked`.
  bool region_end(LayerAsked& asked, CoreId core, std::uint64_t region, Time when,
                  Completion resume);
  bool fence_regions(CoreId core, Time when, Completion resume);
  bool context_switch(CoreId core, Time when, Completion resume);
  bool release(CoreId core, Time when, Completion resume);
  void synchronised(CoreId core, trace::SyncKind kind, Time when);

  // The core's thread is rolled back to its region's begin: restored() for each store, then
  // rewound().
  void restored(CoreId core, std::uint64_t address, std::uint32_t bytes);
  void rewound(CoreId core);
  // The core's thread has ended.
  void thread_ended(CoreId core);

  // ---- From the cores, when an instruction retires.

  void load(const Load& load, Time when);
  void stored(const RetiredStore& store, Time when);
  std::uint32_t hint_instructions() const;
  void hint(CoreId core, const Hint& hint, Time when);

  // ---- From the shared cache, for lines of PM.

  Eviction evicted(Line line, const LineData& data, Time when);
  void evicted_clean(Line line, Time when);
  // A modified line is sent to the controller: by a flush of the core, by an eviction after the
  // core's stores, or by a layer.
  void written_back(CoreId core, Line line, const LineData& data, WriteBack how, Time when);
  void fetch(CoreId core, Line line, Time when, Completion done);
  // Data leave the caches: returns the number for Write::departure.
  std::uint64_t next_departure();
  void write(const Write& write);
  Delay transfer_latency() const;
  Delay lock_latency() const;

  // ---- From the crash engine.

  // True if evicted() would return kWrite for the line now.
  bool may_leave(Line line) const;
  // Returns the procedure that recovers the image that a crash leaves at the time of each call.
  std::unique_ptr<Recovery> recovery(const trace::TraceFile& trace) const;

  // ---- At the end.

  // Ends the run: writes delayed data, and discards all predictions.
  void drain();
  // Describes all stalls and their causes; empty if nothing is outstanding.
  std::string pending() const;
  // Returns what the user can change if the run deadlocks; empty if the design has no remedy.
  std::string remedy() const;
  void statistics(StatisticsCollector& collector) const;

  // Access to single layers. Cores and caches don't use them: they call the layers through the
  // functions above.
  Atomicity& atomicity() { return *atomicity_; }
  const Atomicity& atomicity() const { return *atomicity_; }
  const Ordering& ordering() const { return *ordering_; }
  const Precompute& precompute() const { return *precompute_; }
  Backend& backend() { return *backend_; }
  const Backend& backend() const { return *backend_; }

 private:
  const Choice::MakeRecovery make_recovery_;
  const Promises promises_;
  const std::unique_ptr<Ordering> ordering_;
  const std::unique_ptr<Atomicity> atomicity_;
  const bool may_leave_unreadable_;
  const std::unique_ptr<Backend> backend_;
  const std::unique_ptr<Precompute> precompute_;
  const Interests ordering_interests_, atomicity_interests_, interests_;
  const bool commits_synchronously_;
  const Lowering lowering_;
  // By core: number of fences that have reached the head of its store queue, now and at its
  // region's begin.
  std::vector<std::uint64_t> fences_, fences_before_region_;
};

}  // namespace pmemsim
