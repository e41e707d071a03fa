// One operation of the backend: encryption, integrity, deduplication, wear-leveling, ...
//
// It does two things to a write: it takes time (write()), and it changes what goes to the device
// (encode()): the line's place, its contents, and lines of its own metadata beside it. encode()
// only proposes. What the operation keeps changes when it is told that a write has been sent,
// accepted, dropped, or written out; what it keeps in persistent registers, in accepted() and
// dropped() alone, for these come in the very step in which the write becomes persistent, or is
// lost.
//
// It may also start before the write comes: prepare() shows what is expected to be written, and
// write() and encode() what of this they may use. Nothing may follow from a prediction but time:
// what the operation keeps, what it encodes and what it would answer a read with are as without it.
//
// An operation always sees the data of a whole line. Of a write that brings only some bytes
// (Write::bytes), write() shows the others as they were when it came, encode() and what follows as
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
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/backend/sub_operation.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"
#include "pmemsim/designs/backend/write_observer.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class Backend;
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
  bool predicted = false;  // as a whole, before it came
  bool stale_hashes =
      false;  // those that were predicted are of other metadata: a deliberate defect
  // The line's entry, if it has one. Its place is that of the data as they are when they are
  // sealed.
  Seal seal{};
};

// When the entry of a line has to be persistent, if not all are with their data
// (designs/backend/line_entries.hpp).
enum class EntryNeed : std::uint8_t {
  kLater,     // a region wrote the line, and recovery would undo that: when it commits
  kTogether,  // in one step with the data
  kCommit,    // the same, and those of all lines written before it sooner
};

class BackendOperation {
 public:
  virtual ~BackendOperation() = default;
  // Once, before the run. What `pm` holds then is as the program has written it. `backend` is to be
  // told of metadata_changed().
  virtual void connect(EventQueue&, const Memory& /*pm*/, Backend& /*backend*/) {}
  // Before the run, after connect(), if somebody will look at the device: it holds what programs
  // find there in the clear, and should hold it as if the operation had written it.
  virtual void format(Image& /*device*/) {}
  // Instead, if nobody will: what it holds needn't be encrypted, or hashed. Times are the same.
  virtual void leave_unsealed() {}
  // Who wants to know how long writes wait for what takes time.
  virtual void observe(WriteObserver*) {}
  // Before that, of those that need the entries of lines: from now on they are there.
  virtual bool needs_entries() const { return false; }
  virtual void share(LineEntries&) {}
  // Lines of metadata that a write may have, at most.
  virtual std::uint32_t most_metadata() const { return 0; }

  // ---- The time that it takes for a write: that of its sub-operations
  // (designs/backend/schedule.hpp), in an order in which they can be done. What needs none of them
  // may take its time in write() below.
  virtual std::vector<SubOperation> sub_operations() const { return {}; }
  // The sub-operation of that number is about to start: the line of metadata in PM that it has to
  // wait for, since that isn't cached. It is from now on.
  virtual std::optional<Line> look_up(std::uint32_t /*number*/, const Prediction&) { return {}; }
  // One that finds duplicates is done: where these data are already.
  virtual std::optional<Line> duplicate(const Prediction&) { return {}; }
  // Since when the sub-operation would come out as it would now, but for duplicates that it finds;
  // kAlways: it always would have.
  static constexpr Picoseconds kAlways{-1};
  virtual Picoseconds changed_at(std::uint32_t /*number*/, const Prediction&) const {
    return kAlways;
  }
  // From which of its sub-operations on what was worked out for another line comes out differently
  // now that the write is accepted.
  virtual std::optional<std::uint32_t> outdates(const Write&, const Encoded&,
                                                Line /*other*/) const {
    return {};
  }
  // Of what takes time: would it start on a prediction at once? If not, `free` is called once, when
  // it would.
  virtual bool starts_at_once(Completion /*free*/) { return true; }

  // A write is expected: start on it, as far as the prediction goes. Called again with the same
  // identity when more is known of it, or bytes of its data have been replaced.
  virtual void prepare(PreparedId, const Prediction&) {}
  // Does it see to results that don't hold any more by itself?
  virtual bool keeps_outdated() const { return false; }
  // The results aren't needed any more. Once for each identity, whatever has become of it.
  virtual void discard(PreparedId) {}

  // A write has reached the controller. True: nothing to do before it may go to the queues.
  // Otherwise `done` will be called once, not from within, unless the write is dropped first.
  // `prepared`: results that fit the write, until they are discarded, which may be before it goes
  // on.
  virtual bool write(const Write&, const Prepared& /*prepared*/, Completion /*done*/) {
    return true;
  }
  // A write has come for a line that another one is still held for. May that one bring its data,
  // too?
  virtual bool may_bring(const Write& /*newer*/) const { return true; }
  // It does: the write that `done` is waited for, if it still is, holds that now.
  virtual void brings(const Write& /*both*/, const Completion& /*done*/) {}
  // A write that it hasn't done with has been dropped: `done` must not be called any more.
  virtual void forget(const Completion& /*done*/) {}
  // The same for a read.
  virtual bool read(Line, Completion /*done*/) { return true; }
  // What it takes for a read once the line's data have come from PM.
  virtual Picoseconds after_read() const { return {}; }

  // Where a line stands has to be known before it can be read. True: it is. Otherwise `done` will
  // be called once, not from within.
  virtual bool locate(Line, Completion /*done*/) { return true; }

  // What would go to the queues if the write were accepted now; other operations come before and
  // after this one. `prepared`: what is left of that of write(); if it has data, so has the write.
  virtual void encode(const Write&, const Prepared& /*prepared*/, Encoded&) const {}
  virtual void sent(const Write&, const Encoded&) {}
  virtual void accepted(const Write&, const Encoded&) {}
  // ... a write that was sent. `accepted`: it was persistent; the line is again what it was before.
  virtual void dropped(const Write&, const Encoded&, bool /*accepted*/) {}
  // It has left its queue for the device: it can't be dropped any more.
  virtual void written(const Write&, const Encoded&) {}

  // A program's store to the line is about to become visible.
  virtual void stored(Line, EntryNeed) {}
  // True: what has been accepted could be read after a crash. Otherwise `done` will be called once,
  // when what has been until now could.
  virtual bool publish(Completion /*done*/) { return true; }
  // What a line of its metadata that it has asked Backend::write_back() for holds now, and others
  // that have to become persistent in one step with it, behind it.
  virtual std::vector<Encoded::Metadata> metadata(Line) const { return {}; }
  // Backend::evicted()
  virtual std::optional<LineData> evicted(Line, const LineData& data) const { return data; }

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
