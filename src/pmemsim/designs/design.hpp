// A design: the four layers of one run, and the only place that knows which of them is asked first,
// who is interested in what, what the design's program keeps of a recording, what is still pending
// and what survives. Core, caches, memory, oracle and command line ask the design, and know no
// layer by name.
//
//   1  Atomicity is asked first: a log must have a line's old contents before ordering may send the
//      line anywhere. What it takes, keeps back or answers, ordering doesn't see.
//   2  Of a program remains what both layers leave of it.
//   3  A layer is called for what it is interested in, and nothing else. No interest is asked for
//      where there always is an answer, flushes and fences of ordering, nor for what is so rare
//      that asking would save nothing: context switches, and the questions of who crashes the
//      machine.
//   4  The backend's operations recover an image before the atomicity layer's procedure reads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
struct DeviceLine;
using DeviceImage = std::map<Line, DeviceLine>;  // designs/backend/device_image.hpp
class HintObserver;
class ImageDecoder;
class Memory;
class PmSpace;
class ProgramEvents;
struct SurvivingRegisters;
class ThreadControl;
class WriteObserver;

// The last layer that was asked for a store or a region's end.
enum class LayerAsked : std::uint8_t { kNone, kAtomicity, kOrdering };

class Design {
 public:
  // Throws Error if a row doesn't say what its layer needs.
  Design(const Blueprint& blueprint, EventQueue& queue, Memory& pm);
  Design(const Design&) = delete;
  Design& operator=(const Design&) = delete;
  ~Design();

  // Once, before the run.
  void connect(EventQueue& queue, const Clock& clock, CachePort& caches, Memory& dram,
               PmSpace& pm_space, const ProgramEvents& program_events, ThreadControl& threads);

  const Promises& promises() const { return promises_; }
  const Lowering& lowering() const { return lowering_; }
  void format(Image& device);
  void leave_unsealed();
  // Before the run: who wants to know what becomes of hints, and how long writes wait for the
  // backend's operations.
  void observe(HintObserver* hints, WriteObserver* writes);
  // May a crash leave lines that unfinished regions have written so that they can't be read?
  bool defers_entries() const { return defers_entries_; }
  // ... but not this one.
  void read_first(Line line);
  // Is some layer interested in some of these?
  bool wants(std::uint32_t interests) const { return (interests_ & interests) != 0; }
  // True if instructions after a region's end may not execute before region_end() has resumed.
  bool commits_synchronously() const { return commits_synchronously_; }

  // ---- From the cores' store queues, in each core's program order. A call that returns false
  // makes the store queue wait for `resume`.

  // To be called again after each `resume`, with the same `asked`.
  bool store(LayerAsked& asked, const Store& store, Time when, Completion resume);
  void visible(CoreId core, Line line);
  // May a flush go on? Before its core's own caches are asked.
  bool may_flush(CoreId core, Line line, Time when, Completion resume);
  bool flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
             Completion resume);
  void non_temporal(CoreId core, Line line, ByteMask bytes, Time when);
  bool fence(CoreId core, trace::FenceMeaning meaning, Time when, Completion resume);
  bool region_begin(CoreId core, std::uint64_t region, Time when, Completion resume);
  // To be called again after each `resume`, with the same `asked`.
  bool region_end(LayerAsked& asked, CoreId core, std::uint64_t region, Time when,
                  Completion resume);
  bool fence_regions(CoreId core, Time when, Completion resume);
  bool context_switch(CoreId core, Time when, Completion resume);
  bool release(CoreId core, Time when, Completion resume);
  void synchronised(CoreId core, trace::SyncKind kind, Time when);

  // The core's thread is taken back to where its region began: first for each store, then once.
  void restored(CoreId core, std::uint64_t address, std::uint32_t bytes);
  void rewound(CoreId core);
  // The core's thread has done all that it does.
  void thread_ended(CoreId core);

  // ---- From the cores, when an instruction retires.

  void load(const Load& load, Time when);
  void stored(const RetiredStore& store, Time when);
  std::uint32_t hint_instructions() const;
  void hint(CoreId core, const Hint& hint, Time when);

  // ---- From the shared cache, for lines of PM.

  Eviction evicted(Line line, const LineData& data, Time when);
  void evicted_clean(Line line, Time when);
  // A modified line goes to the controller: by a flush of the core's, or evicted after its stores,
  // or because some layer has sent it.
  void written_back(CoreId core, Line line, const LineData& data, WriteBack how, Time when);
  void fetch(CoreId core, Line line, Time when, Completion done);
  // Data leave the caches: the number for Write::left.
  std::uint64_t leaving();
  void write(const Write& write);
  Delay transfer_latency() const;
  Delay lock_latency() const;

  // ---- From the crash engine.

  // Would evicted() let the line go to PM now?
  bool may_leave(Line line) const;
  // What a crash would leave of the line now, as recovery reads it.
  LineData surviving(Line line) const;
  // The same if the caches had just evicted the line, holding that; nothing if its write would have
  // to wait.
  std::optional<LineData> surviving_eviction(Line line, const LineData& data) const;
  // What a crash would leave beside the bytes of the device.
  SurvivingRegisters registers() const;
  void add_spare_bits(DeviceImage& device) const;

  // ---- At the end.

  // The run is over: writes what is still kept back, and expects nothing any more.
  void drain();
  // Empty if nothing is outstanding; otherwise who waits for what.
  std::string pending() const;
  // What the user can do about a run that stands still; empty: nothing that the design knows of.
  std::string remedy() const;
  void statistics(StatisticsCollector& collector) const;

  // What makes a whole image of what a crash at the time of each call leaves, and what has to read
  // the device for it before; nullptr if the device holds what programs have written.
  std::unique_ptr<Recovery> recovery(const trace::TraceFile& trace) const;
  std::unique_ptr<ImageDecoder> decoder() const;

  // For who looks into one of the layers.
  Atomicity& atomicity() { return *atomicity_; }
  const Atomicity& atomicity() const { return *atomicity_; }
  const Ordering& ordering() const { return *ordering_; }
  const Precompute& precompute() const { return *precompute_; }
  Backend& backend() { return *backend_; }
  const Backend& backend() const { return *backend_; }

 private:
  bool ordering_wants(std::uint32_t interest) const {
    return (ordering_interests_ & interest) != 0;
  }
  bool atomicity_wants(std::uint32_t interest) const {
    return (atomicity_interests_ & interest) != 0;
  }

  const Choice::MakeRecovery make_recovery_;
  const Promises promises_;
  const std::unique_ptr<Ordering> ordering_;
  const std::unique_ptr<Atomicity> atomicity_;
  const bool defers_entries_;
  const std::unique_ptr<Backend> backend_;
  const std::unique_ptr<Precompute> precompute_;
  const std::uint32_t ordering_interests_, atomicity_interests_, interests_;
  const bool commits_synchronously_;
  const Lowering lowering_;
  // By core: that have reached the head of its store queue; the same, when its region began.
  std::vector<std::uint64_t> fences_, fences_before_region_;
};

}  // namespace pmemsim
