// Layer 1, ordering: when does a store become persistent, and in which order?
//
// One object serves all cores. Calls come in each core's program order, from its store queue: that
// is the point where x86 makes stores visible, and where clwb and sfence wait. A call that can't
// be answered at once returns false and calls `resume` later; the store queue waits meanwhile.
//
// How the mechanisms meet this interface (prototyped before it was frozen):
//   x86        flush() sends the line to the controller and counts it until it is persistent;
//              fence() waits for the count to fall to zero.
//   eADR       lowering drops flushes and fences: nothing to do here.
//   DPO        store() appends to the core's persist buffer (false while it is full), fence()
//              appends a barrier; store() and load() look for the line in the other cores' buffers,
//              which is what DPO's snoops find out.
//   HOPS       store() appends to the persist buffer with its epoch; fence(kOrder) ends the epoch
//              and returns true; fence(kDurable) waits for the buffer to drain; evicted() takes the
//              line and drops it, for PM gets its data from the buffers alone; fetch() delays a
//              read whose line the filter at the controller knows. The layer's own record of each
//              line's last writer stands for the sticky-M state.
//   PMEM-Spec  store() sends the line down a persist path of its own (false while it is full);
//              evicted() tells the speculation buffer WriteBack and drops the line; fetch() is its
//              Read; critical_section() assigns and revokes speculation IDs; fence(kDurable) is the
//              spec-barrier. On misspeculation the core's trace goes back to where its outermost
//              region began (OperationStream::seek() is there for that).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "pmemsim/core/event_queue.hpp"
#include "pmemsim/core/statistics.hpp"
#include "pmemsim/core/units.hpp"
#include "pmemsim/mem/image.hpp"
#include "pmemsim/sim/lowering.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

// A store to PM as it leaves the store queue.
struct Store {
  CoreId core;
  std::uint32_t site;  // the program counter, as far as the trace knows it
  std::uint64_t address;
  std::uint32_t size;
  const std::byte* value;  // `size` bytes
  const Image& newest;     // without this store
  std::uint64_t region;    // the outermost region it belongs to; 0: none

  Line line() const { return Line::of(address); }
  // The line's contents without this store, and with it.
  LineData before() const { return newest.read(line()); }
  LineData after() const {
    LineData data = before();
    std::copy_n(value, size, data.begin() + address % kLineBytes);
    return data;
  }
};

// What becomes of a dirty PM line that the shared cache evicts.
enum class Eviction : std::uint8_t {
  kWrite,  // goes to the controller as a plain write
  kTaken,  // the layer deals with it (drops it, delays it, keeps it elsewhere)
};

// What a layer wants to be called for. Cores test one bit instead of making a virtual call, so
// that a mechanism costs simulation time only where it takes part.
enum Interest : std::uint32_t {
  kStores = 1u << 0,            // store()
  kLoads = 1u << 1,             // load()
  kEvictions = 1u << 2,         // evicted()
  kFetches = 1u << 3,           // fetch()
  kCriticalSections = 1u << 4,  // critical_section()
  kRegions = 1u << 5,           // region_begin(), region_end()
  kAllStores = 1u << 6,         // stored(): of the program's DRAM too, with PC and value
  kHints = 1u << 7,             // hint()
  kFlushes = 1u << 8,           // Atomicity::flush()
  kCleanEvictions = 1u << 9,    // Atomicity::evicted_clean()
  kVisibleStores = 1u << 10,    // visible()
};

class Backend;
class Hierarchy;
class Memory;
class PmSpace;
class ProgramEvents;

// What a layer works with. Writes to PM go through the backend; Memory is there to find, drop and
// count what is in the controllers, and to reserve room there (Memory::find, drop, channel_of,
// pending_operations, reserve).
struct LayerContext {
  EventQueue& queue;
  Hierarchy& caches;
  Backend& backend;
  Memory& pm;
  Memory& dram;
  PmSpace& pm_space;
  const ProgramEvents& program_events;
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
  virtual bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Picoseconds when,
                     Completion resume) = 0;
  // ... a fence. True: nothing to wait for.
  virtual bool fence(CoreId core, trace::FenceMeaning meaning, Picoseconds when,
                     Completion resume) = 0;

  virtual bool store(const Store&, Picoseconds, Completion) { return true; }
  // A store to PM has become visible: PmSpace::newest() has it.
  virtual void visible(CoreId, Line) {}
  // A load from PM has retired; `region` as in Store.
  virtual void load(CoreId, Line, std::uint64_t /*region*/, Picoseconds) {}
  virtual Eviction evicted(Line, const LineData&, Picoseconds) { return Eviction::kWrite; }
  // True: this layer will answer the read (or has passed it on) and call `done`.
  virtual bool fetch(CoreId, Line, Picoseconds, Completion) { return false; }
  // The core has acquired a lock (true) or is about to release one.
  virtual void critical_section(CoreId, bool /*enter*/, Picoseconds) {}

  virtual void statistics(StatisticsCollector&) const {}
  // Empty if nothing is outstanding; otherwise who waits for what (for StuckError).
  virtual std::string pending() const { return {}; }
};

}  // namespace pmemsim
