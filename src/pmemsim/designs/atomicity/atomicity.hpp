// Layer 2, atomicity: makes an atomic region all-or-nothing.
//
// Each core's store queue makes the calls in program order, like those of the ordering layer
// (designs/ordering/ordering.hpp); a call that returns false stalls the store queue until `resume`.
// Persists are submitted to the backend (designs/backend/backend.hpp) as Writes with a kind and an
// owner; their `persisted` is the acknowledgement. A hardware log orders log before data by these
// acknowledgements, never by stalling the core.
//
// How the mechanisms use this interface:
//   software undo  Nothing is to be done: the trace has the log's code, and the ordering layer
//              handles its flushes and fences.
//   HWUndo     store() sends the log entry; flush() and evicted() delay a line until its entry is
//              acknowledged; region_end() drops log writes still pending (Backend::drop).
//   HWRedo     store() appends to the core's log buffer; region_end() stalls until the log is
//              persistent; evicted() keeps lines in the DRAM cache (kTaken); fetch() reads lines
//              from this cache; drain() writes the cache's lines in place.
//   LAD        store() marks the line; region_end() sends the marked lines to controllers, which
//              must not write them out yet (Backend::reserve), and resumes when every controller
//              has acknowledged the commit message. On overflow, the controller reads the line,
//              writes it to the log, and then writes the data.
//   ASAP       region_begin() takes CL List and Dependence List entries (false while there are
//              none); store() sets LockBit and owner, starts the log write, adds to the CL List
//              (false while its slots are full); load() adds dependences; region_end() returns
//              true at once and commits later; evicted() takes a locked line and writes it when
//              its log write is acknowledged; drop() removes log and data writes from the WPQ; one
//              Dependence List per channel, found by the region's number; fence_regions() stalls.
#pragma once

#include <cstdint>
#include <string>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/designs/interface/interest.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/interface/lowering.hpp"
#include "pmemsim/designs/interface/store.hpp"

namespace pmemsim {

class Atomicity {
 public:
  virtual ~Atomicity() = default;
  // Called once, before the run.
  virtual void connect(const LayerContext&) {}
  // Returns the parts of the program that this layer keeps, beyond the ordering layer's selection.
  virtual Lowering lowering() const = 0;
  virtual std::uint32_t interests() const { return 0; }

  // Called for outermost regions only; numbers count from 1 per core.
  virtual bool region_begin(CoreId, std::uint64_t /*region*/, Time, Completion) { return true; }
  virtual bool region_end(CoreId, std::uint64_t /*region*/, Time, Completion) { return true; }
  // True if instructions after a region's end may not execute before region_end() has resumed.
  virtual bool commits_synchronously() const { return false; }
  virtual bool fence_regions(CoreId, Time, Completion) { return true; }
  // True if recovery restores all lines that unfinished regions have written, as whole lines, and
  // so doesn't read their contents. A region's commit is then either a store with that purpose, or
  // stalls for BackendParts::publish().
  virtual bool restores_lines() const { return false; }
  // Called when the thread leaves the core, possibly within a region.
  virtual bool context_switch(CoreId, Time, Completion) { return true; }

  virtual bool store(const Store&, Time, Completion) { return true; }
  // The core's store queue has reached a flush of the line. The ordering layer is called for the
  // flush only when this returns true or has resumed.
  virtual bool flush(CoreId, Line, Time, Completion) { return true; }
  // The flushed line leaves the core's caches now. kTaken: the layer delays the write to PM.
  // The line will be in PM with the commit of the region that wrote it
  // (Promises::commits_cover_flushes).
  virtual Eviction flushed(Line) { return Eviction::kWrite; }
  virtual void load(const Load&, Time) {}
  virtual Eviction evicted(Line, const LineData&, Time) { return Eviction::kWrite; }
  // True if evicted() would return kWrite for the line now. The caches also call this function when
  // a flush of the line arrives. If it returns false, the line stays dirty in the caches, and only
  // the data that the core has flushed are written.
  virtual bool may_leave(Line) const { return true; }
  // The shared cache has evicted a PM line that needn't be written back.
  virtual void evicted_clean(Line, Time) {}
  virtual bool fetch(CoreId, Line, Time, Completion) { return false; }

  // Writes all data that the layer still delays. Called at the end of the run.
  virtual void drain() {}

  virtual void statistics(StatisticsCollector&) const {}
  virtual std::string pending() const { return {}; }
  // Returns advice for a run that deadlocks because of this layer's parameters.
  virtual std::string remedy() const { return {}; }
};

}  // namespace pmemsim
