// One operation of the backend: encryption, integrity, deduplication, wear-leveling, ...
//
// It does two things to a write: it takes time (sub_operations()), and it changes what goes to the
// device (encode()): the line's place, its contents, and lines of its own metadata beside it.
// encode() only proposes. What the operation keeps changes when it is told that a write has been
// sent, accepted, dropped, or written out; what it keeps in persistent registers, in accepted() and
// dropped() alone, for these come in the very step in which the write becomes persistent, or is
// lost.
//
// Its sub-operations may start before the write comes, on what is expected to be written. Nothing
// may follow from a prediction but time: what the operation keeps, what it encodes and what it
// would answer a read with are as without it.
//
// An operation always sees the data of a whole line. Of a write that brings only some bytes
// (Write::bytes), its gate sees the others as they were when it came, encode() and what follows as
// they go with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/designs/backend/device_image.hpp"
#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/metadata_port.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/backend/sub_operation.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"
#include "pmemsim/designs/backend/write_gate.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class LineEntries;

// What goes to the queues for a write.
struct Encoded {
  struct Metadata {
    Line line;
    LineData data;
  };
  Line place;
  LineData data;
  std::uint64_t order = 0;           // in which the write came, of all: no other one has it
  std::vector<Metadata> metadata{};  // accepted together with the data, or not at all
  // The data are there already: metadata alone are written.
  bool elsewhere = false;
  bool predicted = false;     // as a whole, before it came
  bool stale_hashes = false;  // those that were predicted are of other metadata: an injected fault
  // The line's entry, if it has one. Its place is that of the data as they are when they are
  // sealed.
  Seal seal{};
};

class BackendOperation {
 public:
  virtual ~BackendOperation() = default;
  // Once, before the run. What `pm` holds then is as the program has written it. `backend` is to be
  // told of metadata_changed().
  virtual void connect(EventQueue&, const Memory& /*pm*/, MetadataPort& /*backend*/) {}
  struct Traits {
    std::uint32_t most_metadata = 0;  // lines of metadata that a write may have, at most
    bool needs_entries = false;       // of lines (LineEntries)
    Picoseconds after_read{};         // what a read takes once the line's data have come from PM
  };
  virtual Traits traits() const { return {}; }
  // Before connect(), if it needs the entries of lines: from now on they are there.
  virtual void share(LineEntries&) {}

  // ---- The time that it takes for a write: that of its sub-operations
  // (designs/backend/schedule.hpp), in an order in which they can be done.
  virtual std::vector<SubOperation> sub_operations() const { return {}; }
  // The sub-operation of that number is about to start: the line of metadata in PM that it has to
  // wait for, since that isn't cached. It is from now on.
  virtual std::optional<Line> look_up(std::uint32_t /*number*/, const Prediction&) { return {}; }
  // One that finds duplicates is done: where these data are already.
  virtual std::optional<Line> duplicate(const Prediction&) { return {}; }
  // Since when the sub-operation would come out as it would now, but for duplicates that it finds;
  // kAlways: it always would have.
  static constexpr Time kAlways{-1};
  virtual Time changed_at(std::uint32_t /*number*/, const Prediction&) const { return kAlways; }
  // From which of its sub-operations on what was worked out for another line comes out differently
  // now that the write is accepted.
  virtual std::optional<std::uint32_t> outdates(const Write&, const Encoded&,
                                                Line /*other*/) const {
    return {};
  }
  // What takes time of its own before a write goes on, instead of sub-operations; nullptr: nothing.
  virtual WriteGate* gate() { return nullptr; }
  // A read has reached the controller. True: nothing to do for it. Otherwise `done` will be called
  // once, not from within.
  virtual bool read(Line, Completion /*done*/) { return true; }
  // Where a line stands has to be known before it can be read. True: it is. Otherwise `done` will
  // be called once, not from within.
  virtual bool locate(Line, Completion /*done*/) { return true; }

  // What would go to the queues if the write were accepted now; other operations come before and
  // after this one. `prepared`: what is left of that of its gates; if it has data, so has the
  // write.
  virtual void encode(const Write&, const Prepared& /*prepared*/, Encoded&) const {}
  virtual void sent(const Write&, const Encoded&) {}
  virtual void accepted(const Write&, const Encoded&) {}
  // ... a write that was sent. `accepted`: it was persistent; the line is again what it was before.
  virtual void dropped(const Write&, const Encoded&, bool /*accepted*/) {}
  // It has left its queue for the device: it can't be dropped any more.
  virtual void written(const Write&, const Encoded&) {}

  // Where a line stands now, and what it holds there means.
  virtual Line place(Line line) const { return line; }
  virtual LineData decode(Line /*line*/, const LineData& data) const { return data; }
  // nullptr: images are as programs have written them.
  virtual std::unique_ptr<ImageDecoder> decoder() const { return nullptr; }
  // If it changes lines: its name, and what it keeps in registers that survive.
  virtual void add_registers(SurvivingRegisters&) const {}
  // What stands beside the lines that a crash leaves. `place`: where any line stands now.
  virtual void add_spare_bits(DeviceImage&, const std::function<Line(Line)>& /*place*/) const {}

  virtual void statistics(StatisticsCollector&) const {}
  virtual std::string pending() const { return {}; }
};

}  // namespace pmemsim
