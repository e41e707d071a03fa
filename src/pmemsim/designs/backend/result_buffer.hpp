// The results that operations have prepared for predicted writes: Janus's intermediate result
// buffer (section 4.3), PMWeaver's buffer of predicted results (section V-C).
//
//   1  An entry represents one prediction: a line, or data, or both. Unknown parts may be added
//      later, and known bytes may be replaced. After each such step, the operations receive the
//      current prediction. They record their results under the entry's identity. Data count as
//      known when all bytes of the line are known.
//   2  The number of entries is limited. While all are taken, nothing more is prepared; the
//      predictor may discard an entry first.
//   3  A write claims at most one entry of its line, which then leaves the buffer. If entries have
//      the write's data, the write claims the one whose line was added last. Otherwise it claims
//      the entry whose line was added first, and may use only the results that depend on the line
//      alone. [Open. These results are the same for all entries of the line, so that no progress of
//      other entries is lost.]
//   4  An entry leaves unused when it is discarded: by its identity, with its thread's entries,
//      with a range of addresses, or for its age. The age is the time since prepare(). Ages are
//      checked whenever the buffer is used. The reported time of such an outcome is the time at
//      which the entry reached the age limit.
//   5  The predictor is notified of the outcome of each entry once, when the entry leaves the
//      buffer. The operations discard their results then. If a write has claimed the entry, they
//      discard their results when that write has been sent.
//   6  The buffer isn't visible to programs, isn't counted in queues, and doesn't survive a crash.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/common/stage_log.hpp"
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
  // `usable`: true if there are operations that can use a prediction.
  ResultBuffer(const EventQueue& queue, const std::vector<WriteGate*>& gates, bool usable,
               const BackendFaults& faults)
      : queue_(queue), gates_(gates), usable_(usable), faults_(faults) {}
  ResultBuffer(const ResultBuffer&) = delete;
  ResultBuffer& operator=(const ResultBuffer&) = delete;

  // Called once, before the run. Sets the limits of the buffer, the observer of outcomes, and the
  // validator that replaces rule 3, if there is one.
  void configure(const ResultBufferSize& size, PredictionObserver& observer,
                 WriteValidator* validator = nullptr);

  // Logs predictions, and the number of prepared results.
  void log_stages(StageLog* stages) { stages_ = stages; }

  // Starts the operations on the known parts of a prediction. Returns an empty identity if
  // there is no free entry, or no operation that can use it. There is no outcome then. (The row of
  // every design that predicts requires an operation, so that only the first case occurs.)
  PreparedId prepare(const Prediction& prediction);
  // True if operations would start on a prediction at once. Otherwise `free` is called once, when
  // they can start.
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
  // Returns the results that an arriving write may use. The caller then calls claimed(), which
  // reports the outcome. `late`: true if operations still have work to do for the write.
  Prepared claim(const Write& write);
  void claimed(PreparedId id, bool late);

 private:
  struct Entry {
    Prediction prediction;
    Outcome outcome{};  // the known parts of the outcome; without identity: the slot is free
    Time prepared{};    // time of prepare()
    bool counter_outdated = false;
    // Slot of the entry of the same line whose line was added before this one's.
    std::uint32_t older = kNoSlot;
    std::uint32_t previous = kNoSlot, next = kNoSlot;  // neighbours by age
  };

  std::uint32_t slot_of(PreparedId id) const;
  void pass_to_gates(std::uint32_t slot);
  void add_to_line(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void log_occupancy() const;
  void log_prediction(const Entry& entry) const;
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
  WriteValidator* validator_ = nullptr;
  StageLog* stages_ = nullptr;
  Slab<Entry> entries_;
  RequestList<Entry> by_age_;  // all entries, except one that is being claimed
  // By line: slot of the entry whose line was added last.
  LineTable<std::uint32_t> newest_;
  LineTable<LineData> used_;  // data of used results, for an injected fault
  std::uint32_t taken_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace pmemsim
