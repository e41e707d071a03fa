// The results that operations have prepared for predicted writes: Janus's intermediate result
// buffer (section 4.3), PMWeaver's buffer of predicted results (section V-C).
//
//   1  An entry represents one prediction: a line, or data, or both. Unknown parts may be added
//      later, and known bytes may be replaced. After each such step, the operations get the current
//      prediction; they keep their results under the entry's identity. Data count as known when all
//      bytes of the line are.
//   2  The number of entries is limited. While all are taken, nothing more is prepared; the
//      predictor may discard an entry first.
//   3  A write claims at most one entry of its line, which then leaves the buffer. Among entries
//      with the write's data, this is the one that has known its line for the shortest time. If
//      there is none, it is the entry that has known its line for the longest time. Only its
//      results that depend on the line alone may then be used. [Open. These results are the same
//      for all entries of the line, so that no progress of other entries is lost.]
//   4  An entry leaves unused when it is discarded: by its identity, with its thread's entries,
//      with a range of addresses, or for its age. An age counts from its first step. Ages are
//      checked whenever the buffer is used; the outcome has the time at which the limit was
//      reached.
//   5  The predictor is notified of the outcome of each entry once, when it leaves the buffer. The
//      operations keep their results until discard(), which is called then, or, if a write has
//      claimed the entry, when that write has been sent.
//   6  The buffer isn't visible to programs, isn't counted in queues, and doesn't survive a crash.
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
  // `usable`: there are operations that can use a prediction.
  ResultBuffer(const EventQueue& queue, const std::vector<WriteGate*>& gates, bool usable,
               const BackendFaults& faults)
      : queue_(queue), gates_(gates), usable_(usable), faults_(faults) {}
  ResultBuffer(const ResultBuffer&) = delete;
  ResultBuffer& operator=(const ResultBuffer&) = delete;

  // Called once, before the run. Sets the limits of the buffer, and the observer of outcomes.
  void configure(const ResultBufferSize& size, PredictionObserver& observer);

  // Starts the operations on the known parts of a prediction. The identity is empty if there is no
  // free entry, or no operation; there is no outcome then. (A design that predicts requires an
  // operation by its row in the table, so that it needn't tell the two cases apart.)
  PreparedId prepare(const Prediction& prediction);
  // True if operations would start on a prediction at once. If not, `free` is called once, when
  // they would.
  bool starts_at_once(Completion free) const;
  // Adds the line, or adds or replaces these bytes of the data. False if the prediction has had its
  // outcome.
  bool complete(PreparedId id, Line line);
  bool complete(PreparedId id, const LineData& data, ByteMask bytes);
  bool discard(PreparedId id);
  void discard_thread(CoreId core);
  // Discards the entries of lines from `first` to before `end`.
  void discard_range(Line first, Line end, Fate fate);
  void discard_all();
  // Injected fault: the entries of the line may be used although its counter has changed.
  void mark_counter_outdated(Line line);

  // True if there is an entry for writes of the line.
  bool expects(Line line) const { return newest_.find(line) != nullptr; }
  // Returns the results that an arriving write may use. claimed() reports the outcome, when it is
  // known whether the operations still have work to do.
  Prepared claim(const Write& write);
  void claimed(PreparedId id, bool late);

 private:
  struct Entry {
    Prediction prediction;
    Outcome outcome{};  // outcome as far as known; without identity: no entry
    Time prepared{};    // time of prepare()
    bool counter_outdated = false;
    // Entry that has known the line before this one.
    std::uint32_t older = kNoSlot;
    std::uint32_t previous = kNoSlot, next = kNoSlot;  // neighbours by age
  };

  std::uint32_t slot_of(PreparedId id) const;
  void pass_to_gates(std::uint32_t slot);
  void add_to_line(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void report_outcome(std::uint32_t slot);
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
  RequestList<Entry> by_age_;  // entries that aren't being claimed
  // Entry of each line that has known it for the shortest time.
  LineTable<std::uint32_t> newest_;
  LineTable<LineData> used_;  // data of used results, for an injected fault
  std::uint32_t taken_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace pmemsim
