// Layer 1, ordering: when does a store become persistent, and in which order?
//
// One object serves all cores. Calls come in each core's program order, from its store queue: that
// is the point where x86 makes stores visible, and where clwb and sfence wait. A call that can't
// be answered at once returns false and calls `resume` later; the store queue waits meanwhile.
//
// How the mechanisms meet this interface:
//   x86        flush() sends the line to the controller and counts it until it is persistent;
//              fence() waits for the count to fall to zero.
//   eADR       lowering drops flushes and fences: nothing to do here.
//   DPO        visible() appends to the core's persist buffer, store() returns false while it is
//              full; fence(), release() and synchronised(), of whatever kind, are barriers;
//              visible() and load() look for the line in the other cores' buffers, which is what
//              DPO's snoops find out; fetch() answers a read from there.
//   HOPS       visible() appends to the persist buffer with its epoch; fence(kOrder) ends the
//              epoch; fence(kDurable) lets store() and release() wait for the buffer to drain;
//              evicted() takes the line and drops it, for PM gets its data from the buffers alone;
//              fetch() delays a read whose line the filter at the controller knows. The layer's own
//              record of each line's last writer stands for the sticky-M state.
//   PMEM-Spec  visible() sends the bytes down a persist path of its own, store() returns false
//              while it is full; evicted() tells the speculation buffer WriteBack and drops the
//              line; fetch() is its Read; synchronised() assigns a speculation ID at a lock and
//              revokes it at the unlock, other kinds don't concern it; fence(kDurable) is the
//              spec-barrier; a region looks at its mark at the fence(kOrder) before its commit, and
//              in region_end(). Marked, its thread goes back (ThreadControl::rewind), and
//              restored() sends the old bytes down the persist path.
#pragma once

#include <cstdint>
#include <string>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/designs/interface/interest.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/interface/lowering.hpp"
#include "pmemsim/designs/interface/store.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

// A store fence or full fence, as it reaches the head of the store queue.
struct Fence {
  CoreId core;
  std::uint64_t number;  // the core's fences count from 1
  trace::FenceMeaning meaning;
};

class Ordering {
 public:
  virtual ~Ordering() = default;
  // Once, before the run.
  virtual void connect(const LayerContext&) {}
  virtual Lowering lowering() const = 0;
  virtual std::uint32_t interests() const { return 0; }

  // The core's store queue has reached a flush. `dirty`: the core's own caches held the line
  // modified (they no longer do). True: the store queue goes on while the line is on its way.
  virtual bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
                     Completion resume) = 0;
  // ... a non-temporal store of these bytes, which is visible now and goes past the caches (the
  // core's own have no copy any more).
  virtual void non_temporal(CoreId, Line, ByteMask, Time /*when*/) {}
  // ... a fence. True: the store queue goes on. When what the fence promises is fulfilled, be it
  // now or later, the layer tells the program events (fence_fulfilled).
  virtual bool fence(const Fence& fence, Time when, Completion resume) = 0;

  virtual bool store(const Store&, Time, Completion) { return true; }
  // A store to PM has become visible: PmSpace::newest() has it.
  virtual void visible(CoreId, Line) {}
  // The thread is taken back (designs/interface/thread_control.hpp): of one of its stores, the
  // latest first, PmSpace::newest() holds again what is there without it. A store that store() was
  // told of and that hasn't become visible is among them.
  virtual void restored(CoreId, std::uint64_t /*address*/, std::uint32_t /*bytes*/) {}
  // A load from PM has retired.
  virtual void load(const Load&, Time) {}
  // An outermost region's begin, or its end, has reached the head of the store queue. (Atomicity is
  // asked for the end first.)
  virtual void region_begin(CoreId, std::uint64_t /*region*/) {}
  virtual bool region_end(CoreId, std::uint64_t /*region*/, Time, Completion) { return true; }
  // The core is about to hand something over to other threads: to release a lock or whatever else
  // synchronised() is told of, or to write an atomic variable.
  virtual bool release(CoreId, Time, Completion) { return true; }
  virtual Eviction evicted(Line, const LineData&, Time) { return Eviction::kWrite; }
  // Would evicted() let the line go to PM now?
  virtual bool may_leave(Line) const { return true; }
  // True: this layer will answer the read (or has passed it on) and call `done`.
  virtual bool fetch(CoreId, Line, Time, Completion) { return false; }
  // The core has acquired something (trace::is_acquire()), or is about to release it: whoever
  // waits for that goes on after this call. Once for each operation of the program; for a write
  // lock, when the readers have left, too. trace::is_lock() and is_unlock() tell the bounds of
  // critical sections from other synchronisation. Locks that the program has annotated are among
  // them; other accesses to atomic variables are loads and stores to a layer.
  virtual void synchronised(CoreId, trace::SyncKind, Time) {}

  // How much longer a line takes from the shared cache to a core, and taking a lock.
  virtual Delay transfer_latency() const { return {}; }
  virtual Delay lock_latency() const { return {}; }

  virtual void statistics(StatisticsCollector&) const {}
  // Empty if nothing is outstanding; otherwise who waits for what (for StuckError).
  virtual std::string pending() const { return {}; }
};

}  // namespace pmemsim
