// Layer 1, ordering: decides when a store becomes persistent, and in which order.
//
// One object serves all cores. Each core's store queue makes the calls in program order: on x86,
// stores become visible there, and clwb and sfence stall there. If a call returns false, the store
// queue stalls until the layer calls `resume`.
//
// How the mechanisms use this interface:
//   x86        flush() sends the line to the controller and counts it until it is persistent;
//              fence() stalls until the count is zero.
//   eADR       lowering drops flushes and store fences. Stores are persistent when visible() is
//              called.
//   DPO        visible() appends to the core's persist buffer; store() returns false while the
//              buffer is full. fence(), release() and synchronised(), of any kind, are barriers.
//              visible() and load() look up the line in the other cores' buffers, as DPO's snoops
//              do. fetch() answers a read from the buffers.
//   HOPS       visible() appends to the persist buffer, with the core's epoch. fence(kOrder) ends
//              the epoch; fence(kDurable) makes store() and release() stall until the buffer is
//              empty. evicted() takes the line and drops it: PM receives its data from the buffers
//              alone. fetch() delays a read whose line is in the filter at the controllers. The
//              layer's own record of each line's last writer models the sticky-M state.
//   PMEM-Spec  visible() sends the bytes down a separate persist path; store() returns false while
//              the path is full. evicted() sends WriteBack to the speculation buffer and drops the
//              line; fetch() sends it Read. synchronised() assigns a speculation ID at a lock and
//              revokes it at the unlock, and ignores other kinds. fence(kDurable) is the
//              spec-barrier. A region checks its mark at the fence(kOrder) before its commit, and
//              in region_end(). The thread of a marked region rolls back (ThreadControl::rewind),
//              and restored() sends the old bytes down the persist path.
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
  // Called once, before the run.
  virtual void connect(const LayerContext&) {}
  virtual Lowering lowering() const = 0;
  virtual std::uint32_t interests() const { return 0; }

  // The core's store queue has reached a flush. `dirty`: the core's own caches held the line
  // modified; they don't any more. Returns true if the store queue continues while the line is in
  // flight.
  virtual bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
                     Completion resume) = 0;
  // The core's store queue has reached a non-temporal store of these bytes. The store is visible
  // now, and goes past the caches: the core's own caches have no copy any more.
  virtual void non_temporal(CoreId, Line, ByteMask, Time /*when*/) {}
  // The core's store queue has reached a fence. Returns true if the store queue continues. When the
  // fence's durability guarantee is fulfilled, now or later, the layer calls fence_fulfilled of the
  // program events.
  virtual bool fence(const Fence& fence, Time when, Completion resume) = 0;

  // A store to PM is about to leave the core's store queue. Returns true if it may leave now.
  virtual bool store(const Store&, Time, Completion) { return true; }
  // A store to PM has become visible: PmSpace::newest() contains it.
  virtual void visible(CoreId, Line) {}
  // A rollback (designs/interface/thread_control.hpp) has undone one of the thread's stores, from
  // the latest store to the earliest. PmSpace::newest() no longer contains the store. The call also
  // occurs for a store that was passed to store() and hasn't become visible.
  virtual void restored(CoreId, std::uint64_t /*address*/, std::uint32_t /*bytes*/) {}
  // A load from PM has retired.
  virtual void load(const Load&, Time) {}
  // An outermost region's begin, or its end, has reached the head of the store queue. At an end,
  // the atomicity layer is called before this layer.
  virtual void region_begin(CoreId, std::uint64_t /*region*/) {}
  virtual bool region_end(CoreId, std::uint64_t /*region*/, Time, Completion) { return true; }
  // The core is about to release something to other threads: a lock or another object of
  // synchronised(), or the value of an atomic variable.
  virtual bool release(CoreId, Time, Completion) { return true; }
  // The shared cache has evicted a dirty PM line.
  virtual Eviction evicted(Line, const LineData&, Time) { return Eviction::kWrite; }
  // True if evicted() would return kWrite for the line now.
  virtual bool may_leave(Line) const { return true; }
  // The caches read a PM line that they don't have. Returns true if this layer answers the read, or
  // has passed it on, and `done` will be called.
  virtual bool fetch(CoreId, Line, Time, Completion) { return false; }
  // The core has acquired a lock or another object (trace::is_acquire()), or is about to release
  // it. Threads that stall for the release continue after this call. The call occurs once for each
  // operation of the program; for a write lock, only when the last reader has released.
  // trace::is_lock() and is_unlock() distinguish the bounds of critical sections from other
  // synchronisation. Locks that the program has annotated are included. A layer sees other accesses
  // to atomic variables as loads and stores.
  virtual void synchronised(CoreId, trace::SyncKind, Time) {}

  // The additional latency of a line from the shared cache to a core, and of acquiring a lock.
  virtual Delay transfer_latency() const { return {}; }
  virtual Delay lock_latency() const { return {}; }

  virtual void statistics(StatisticsCollector&) const {}
  // Describes all stalls and their causes, for StuckError; empty if nothing is outstanding.
  virtual std::string pending() const { return {}; }
};

}  // namespace pmemsim
