// Layer 2, atomicity: what makes an atomic region all-or-nothing?
//
// Calls come in each core's program order, from its store queue, like those of the ordering layer
// (designs/ordering/ordering.hpp); a call that returns false makes the store queue wait for
// `resume`. Persists are submitted to the backend (designs/backend/backend.hpp) as Writes with a
// kind and an owner; their `persisted` is the acknowledgement. A hardware log orders log before
// data by these acknowledgements, never by stalling the core.
//
// How the mechanisms meet this interface:
//   software undo  nothing: its code is in the trace, and ordering governs its flushes and fences.
//   HWUndo     store() sends the log entry; flush() and evicted() hold a line back until its entry
//              is acknowledged; region_end() drops log writes still pending (Backend::drop).
//   HWRedo     store() appends to the core's log buffer; region_end() waits for the log;
//              evicted() keeps lines in the DRAM cache (kTaken), fetch() reads them from there;
//              drain() writes its lines in place.
//   LAD        store() marks the line; region_end() sends the marked lines to controllers that must
//              not write them out yet (Backend::reserve), and resumes when every controller has
//              acknowledged the commit message: two phases over Backend::channel_of(). Overflow:
//              read, log write, then the data write.
//   ASAP       region_begin() takes CL List and Dependence List entries (false while there are
//              none); store() sets LockBit and owner, starts the log write, adds to the CL List
//              (false while its slots are full); load() adds dependences; region_end() returns
//              true at once and commits later; evicted() takes a locked line and writes it when
//              its log write is acknowledged; drop() removes log and data writes from the WPQ; one
//              Dependence List per channel, found by the region's number; fence_regions() waits.
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
  // Once, before the run.
  virtual void connect(const LayerContext&) {}
  // What this layer leaves of the program on top of what the ordering layer leaves.
  virtual Lowering lowering() const = 0;
  virtual std::uint32_t interests() const { return 0; }

  // Outermost regions only; numbers count from 1 per core.
  virtual bool region_begin(CoreId, std::uint64_t /*region*/, Time, Completion) { return true; }
  virtual bool region_end(CoreId, std::uint64_t /*region*/, Time, Completion) { return true; }
  // True if instructions after a region's end may not execute before region_end() has resumed.
  virtual bool commits_synchronously() const { return false; }
  virtual bool fence_regions(CoreId, Time, Completion) { return true; }
  // The thread leaves the core, maybe in the middle of a region, and may go on on another one.
  // Does recovery give the lines that unfinished regions have written their old contents back, each
  // as a whole, so that it needn't read them? A region's commit then is a store for that purpose,
  // or waits for Backend::publish().
  virtual bool restores_lines() const { return false; }
  virtual bool context_switch(CoreId, Time, Completion) { return true; }

  virtual bool store(const Store&, Time, Completion) { return true; }
  // The core's store queue has reached a flush of the line, which the ordering layer is told of
  // only when this returns true or has resumed.
  virtual bool flush(CoreId, Line, Time, Completion) { return true; }
  // It leaves the core's caches now. kTaken: the layer keeps the line from PM, where it will be
  // with the commit of the region that wrote it (Promises::commits_cover_flushes).
  virtual Eviction flushed(Line) { return Eviction::kWrite; }
  virtual void load(const Load&, Time) {}
  virtual Eviction evicted(Line, const LineData&, Time) { return Eviction::kWrite; }
  // Would evicted() let the line go to PM now?
  virtual bool may_leave(Line) const { return true; }
  // The shared cache has evicted a PM line that needn't be written back.
  virtual void evicted_clean(Line, Time) {}
  virtual bool fetch(CoreId, Line, Time, Completion) { return false; }

  // The run is over: writes what it still keeps back.
  virtual void drain() {}

  virtual void statistics(StatisticsCollector&) const {}
  virtual std::string pending() const { return {}; }
  // If the run stands still because of this layer's parameters: what to change.
  virtual std::string remedy() const { return {}; }
};

}  // namespace pmemsim
