// One operation of the backend: encryption, integrity, deduplication, wear-leveling, ...
//
// An operation has two effects on a write. It takes time (sub_operations()), and it changes the
// lines that are sent to the device (encode()): the location and contents of the write's line, and
// lines of the operation's own metadata.
//
// encode() changes no state. The operation's state changes when it is notified that a write has
// been sent, accepted, dropped, or written. State in persistent registers changes only in
// accepted() and dropped(), which are called in the same step in which the write becomes
// persistent, or is lost.
//
// Sub-operations may start before the write arrives, on predicted data. A prediction may change
// only times: the operation's state, its encoded lines and the results of reads are the same as
// without the prediction.
//
// An operation always sees the data of a whole line. If a write has only some bytes of its line
// (Write::bytes), its gate sees the other bytes with their contents at the write's arrival. Later
// functions, from encode() on, see them with the contents that are sent.
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

// The lines that a write sends to the queues.
struct Encoded {
  struct Metadata {
    Line line;
    LineData data;
  };
  Line place;  // location to which the data are sent
  LineData data;
  std::uint64_t order = 0;           // order of the write's arrival, unique among all writes
  std::vector<Metadata> metadata{};  // accepted together with the data, or not at all
  // True if PM already has the data at another location: only metadata are written.
  bool duplicate = false;
  bool predicted = false;  // the write's whole data were predicted before it arrived
  // The predicted hashes were computed from other metadata (an injected fault).
  bool stale_hashes = false;
  // The line's entry, if it has one. Its place is the data's location at the time of sealing.
  Seal seal{};
};

class BackendOperation {
 public:
  virtual ~BackendOperation() = default;
  // Called once, before the run. `pm` then holds its contents as the program has written them. The
  // operation has to call metadata_changed() of `backend`.
  virtual void connect(EventQueue&, const Memory& /*pm*/, MetadataPort& /*backend*/) {}
  struct Traits {
    std::uint32_t most_metadata = 0;  // most lines of metadata that a write may have
    bool needs_entries = false;       // needs the entries of lines (LineEntries)
    Picoseconds after_read{};         // time that a read takes after its data have arrived from PM
  };
  virtual Traits traits() const { return {}; }
  // Called before connect() if the operation needs the entries of lines.
  virtual void share(LineEntries&) {}

  // ---- Time for a write: the operation's sub-operations (designs/backend/schedule.hpp), in an
  // order in which they can be executed.
  virtual std::vector<SubOperation> sub_operations() const { return {}; }
  // Called when the sub-operation of that number is about to start. Returns the line of metadata
  // that the sub-operation must read from PM first, because it isn't cached. The line counts as
  // cached from this call on.
  virtual std::optional<Line> look_up(std::uint32_t /*number*/, const Prediction&) { return {}; }
  // Called when a sub-operation that finds duplicates is done. Returns the location that has
  // these data.
  virtual std::optional<Line> duplicate(const Prediction&) { return {}; }
  // Returns the earliest time from which on the sub-operation would yield its current result, apart
  // from duplicates that it finds. kAlways: the result has never changed.
  static constexpr Time kAlways{-1};
  virtual Time changed_at(std::uint32_t /*number*/, const Prediction&) const { return kAlways; }
  // Returns the first of the operation's sub-operations whose result for the line `other` changes
  // because the write is accepted. The results of all later sub-operations change, too.
  virtual std::optional<std::uint32_t> outdates(const Write&, const Encoded&,
                                                Line /*other*/) const {
    return {};
  }
  // Returns the gate that delays writes instead of sub-operations; nullptr: none.
  virtual WriteGate* gate() { return nullptr; }
  // Called when a read has reached the controller. Returns true if the operation has no work to do
  // for the read. Otherwise it calls `done` once, after this call has returned.
  virtual bool read(Line, Completion /*done*/) { return true; }
  // Called before a read, which needs the line's location. Returns true if place() is known.
  // Otherwise the operation calls `done` once, after this call has returned.
  virtual bool locate(Line, Completion /*done*/) { return true; }

  // Adds this operation's changes, as they would be if the write were accepted now. Other
  // operations are called before and after this one. `prepared`: the results that the write may
  // still use; if these have data, the write has the same data.
  virtual void encode(const Write&, const Prepared& /*prepared*/, Encoded&) const {}
  virtual void sent(const Write&, const Encoded&) {}
  virtual void accepted(const Write&, const Encoded&) {}
  // Called when a write that was sent is dropped. `accepted`: true if the write was persistent. Its
  // line then has its former contents again.
  virtual void dropped(const Write&, const Encoded&, bool /*accepted*/) {}
  // Called when a write has left its queue for the device, so that it can't be dropped any more.
  virtual void written(const Write&, const Encoded&) {}

  // place(): returns the line's current location. decode(): decodes the contents of that location.
  virtual Line place(Line line) const { return line; }
  virtual LineData decode(Line /*line*/, const LineData& data) const { return data; }
  // Returns the decoder of crash images; nullptr: the operation changes no lines.
  virtual std::unique_ptr<ImageDecoder> decoder() const { return nullptr; }
  // Adds the operation's name, if it changes lines, and its registers that survive a crash.
  virtual void add_registers(SurvivingRegisters&) const {}
  // Adds the spare bits of the lines that a crash leaves. `place`: returns a line's current
  // location.
  virtual void add_spare_bits(DeviceImage&, const std::function<Line(Line)>& /*place*/) const {}

  virtual void statistics(StatisticsCollector&) const {}
  virtual std::string pending() const { return {}; }
};

}  // namespace pmemsim
