// One operation of the backend: encryption, integrity, deduplication, wear-leveling, ...
//
// An operation does two things to a write. It takes time (sub_operations()), and it changes what is
// sent to the device (encode()): the line's place, its contents, and lines of its own metadata.
//
// encode() only proposes. The operation's state changes when it is notified that a write has been
// sent, accepted, dropped, or written. State in persistent registers changes in accepted() and
// dropped() alone. These are called in the very step in which the write becomes persistent, or is
// lost.
//
// Sub-operations may start before the write arrives, on predicted data. A prediction may change
// nothing but time: the operation's state, its encoded lines and the results of reads are the same
// as without it.
//
// An operation always sees the data of a whole line. For a write of only some bytes (Write::bytes),
// its gate sees the other bytes as they were when the write arrived. Later functions, from encode()
// on, see them as they are sent.
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
  Line place;
  LineData data;
  std::uint64_t order = 0;           // order of the write's arrival, unique among all writes
  std::vector<Metadata> metadata{};  // accepted together with the data, or not at all
  // True if PM has the data already at another place: only metadata are written.
  bool duplicate = false;
  bool predicted = false;     // the write's whole data were predicted before it arrived
  bool stale_hashes = false;  // the predicted hashes are of other metadata: an injected fault
  // The line's entry, if it has one. Its place is the place of the data at the time of sealing.
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
  // that it has to read from PM first, since that isn't cached. The line counts as cached from then
  // on.
  virtual std::optional<Line> look_up(std::uint32_t /*number*/, const Prediction&) { return {}; }
  // Called when a sub-operation that finds duplicates is done. Returns the place that has these
  // data.
  virtual std::optional<Line> duplicate(const Prediction&) { return {}; }
  // Returns the time since which the sub-operation would yield its current result, apart from
  // duplicates that it finds. kAlways: it always would have.
  static constexpr Time kAlways{-1};
  virtual Time changed_at(std::uint32_t /*number*/, const Prediction&) const { return kAlways; }
  // Returns the first of its sub-operations whose result for the other line changes because the
  // write is accepted. The results of all later ones change, too.
  virtual std::optional<std::uint32_t> outdates(const Write&, const Encoded&,
                                                Line /*other*/) const {
    return {};
  }
  // Returns the gate that delays writes instead of sub-operations; nullptr: none.
  virtual WriteGate* gate() { return nullptr; }
  // Called when a read has reached the controller. True if the operation has nothing to do for it.
  // Otherwise `done` will be called once, not from within.
  virtual bool read(Line, Completion /*done*/) { return true; }
  // Called before a read, which needs the line's place. True if the place is known. Otherwise
  // `done` will be called once, not from within.
  virtual bool locate(Line, Completion /*done*/) { return true; }

  // Adds what this operation would send to the queues if the write were accepted now. Other
  // operations are called before and after this one. `prepared`: the results that the write may
  // still use; if these have data, the write has the same data.
  virtual void encode(const Write&, const Prepared& /*prepared*/, Encoded&) const {}
  virtual void sent(const Write&, const Encoded&) {}
  virtual void accepted(const Write&, const Encoded&) {}
  // Called when a write that was sent is dropped. `accepted`: it was persistent; its line has its
  // former contents again.
  virtual void dropped(const Write&, const Encoded&, bool /*accepted*/) {}
  // Called when a write has left its queue for the device: it can't be dropped any more.
  virtual void written(const Write&, const Encoded&) {}

  // Returns the line's current place, and decodes the contents that it has there.
  virtual Line place(Line line) const { return line; }
  virtual LineData decode(Line /*line*/, const LineData& data) const { return data; }
  // Returns the decoder of crash images; nullptr: images are as programs have written them.
  virtual std::unique_ptr<ImageDecoder> decoder() const { return nullptr; }
  // Adds the operation's name, if it changes lines, and its registers that survive a crash.
  virtual void add_registers(SurvivingRegisters&) const {}
  // Adds the spare bits of the lines that a crash leaves. `place`: returns the current place of a
  // line.
  virtual void add_spare_bits(DeviceImage&, const std::function<Line(Line)>& /*place*/) const {}

  virtual void statistics(StatisticsCollector&) const {}
  virtual std::string pending() const { return {}; }
};

}  // namespace pmemsim
