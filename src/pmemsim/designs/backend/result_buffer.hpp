// What the operations have prepared for writes that are expected: Janus's intermediate result
// buffer (section 4.3), PMWeaver's buffer of predicted results (section V-C).
//
//   1  An entry stands for one prediction: a line, or data, or both. What isn't known yet may be
//      added, and bytes that are known may be replaced. The operations are shown the prediction as
//      it is after each such step, and keep their results under the entry's identity. Data count as
//      known when all bytes of the line are.
//   2  There are so many entries. While all are taken, nothing more is prepared; who predicts may
//      discard something first.
//   3  A write claims one entry of its line at most, which leaves the buffer with that: of those
//      whose data are the write's, the one that has known its line for the shortest time. If there
//      is none, the one that has known it for the longest time, and of this only what follows from
//      the line may be used. [Open. That is the same for all entries of the line, so that nothing
//      is lost with those that have got less far.]
//   4  An entry goes unused when it is discarded: by its identity, with its thread's, with those of
//      a range of addresses, or because it has become too old, counted from the first step. Age is
//      looked at whenever the buffer is used; the outcome has the time at which it was reached.
//   5  Whoever predicts is told the outcome of each entry once, when it leaves the buffer. The
//      operations keep their results until discard(): then, or, if a write has claimed the entry,
//      when that has gone on.
//   6  Nothing here is seen by programs, counted in queues or left by a crash.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/backend/write_gate.hpp"
#include "pmemsim/machine/memory/bank_queues.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

struct ResultBufferSize {
  std::uint32_t entries = 0;
  Picoseconds most_age{INT64_MAX};  // no limit
};

class ResultBuffer {
 public:
  // `usable`: there are operations that a prediction may be of use for.
  ResultBuffer(const EventQueue& queue, const std::vector<WriteGate*>& gates, bool usable,
               const BackendFaults& faults)
      : queue_(queue), gates_(gates), usable_(usable), faults_(faults) {}
  ResultBuffer(const ResultBuffer&) = delete;
  ResultBuffer& operator=(const ResultBuffer&) = delete;

  // Once, before the run: how much may be prepared at a time, and who is told the outcomes.
  void expect(const ResultBufferSize& size, PredictionObserver& observer);

  // Starts the operations on what is known. The identity names nothing if there is no room; then
  // there is no outcome either. The same if there is no operation: a choice that predicts needs
  // one, by its row in the table, so that it has no use for telling the two apart.
  PreparedId prepare(const Prediction& prediction);
  // Would operations start on a prediction at once? If not, `free` is called once, when they would.
  bool starts_at_once(Completion free) const;
  // The line is known now; these bytes of the data are, or are others. False if the prediction has
  // had its outcome.
  bool complete(PreparedId id, Line line);
  bool complete(PreparedId id, const LineData& data, ByteMask bytes);
  bool discard(PreparedId id);
  void discard_thread(CoreId core);
  // From one line to before another.
  void discard_range(Line first, Line end, Fate fate);
  void discard_all();
  // Injected fault: those of the line are used although its counter has changed.
  void outlive(Line line);

  // Is there something for a write of the line?
  bool expects(Line line) const { return newest_.find(line) != nullptr; }
  // What a write that has come may use. The outcome is told by claimed(), when it is known whether
  // the operations have something left to do.
  Prepared claim(const Write& write);
  void claimed(PreparedId id, bool late);

 private:
  struct Entry {
    Prediction prediction;
    Outcome outcome{};  // as far as it is known; without identity: no entry
    Time prepared{};    // since when
    bool outlived = false;
    std::uint32_t older = kNoSlot;  // the entry of the line that knew it before this one
    std::uint32_t previous = kNoSlot, next = kNoSlot;  // by age
  };

  std::uint32_t slot_of(PreparedId id) const;
  void show(std::uint32_t slot);
  void add_to_line(std::uint32_t slot);
  void leave(std::uint32_t slot);
  void tell(std::uint32_t slot);
  void discard(std::uint32_t slot, Fate fate, Time when);
  template <class Which>
  void discard_each(Fate fate, const Which& which);
  void discard_old();
  std::uint32_t find(const Write& write) const;
  void note_used(const Write& write);
  Prepared used_before(const Write& write) const;

  const EventQueue& queue_;
  const std::vector<WriteGate*>& gates_;
  const bool usable_;
  const BackendFaults& faults_;
  ResultBufferSize size_;
  PredictionObserver* observer_ = nullptr;
  Slab<Entry> entries_;
  RequestList<Entry> by_age_;        // not those that are being claimed
  LineTable<std::uint32_t> newest_;  // by line: the entry that has known it for the shortest time
  LineTable<LineData> used_;         // where results are used twice, an injected fault
  std::uint32_t taken_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace pmemsim
