// The learner in each core of PMWeaver. It learns where writes come from, and predicts them
// (section IV).
//
//   1  A store's value is added to the history, with the path before it. (V-A)
//   2  The following rules apply only to stores of 4 or 8 bytes. [Open; the artifact's rule]
//   3  The store is added to the path. If that path is in the table, a prediction is pending from
//      then on. Then the store's value fills all predictions that wait for its instruction. A
//      pattern that begins with a store is thus found at the store before. (V-B; Figure 13)
//   4  A flush of a line that was stored to since its last write-back is learnt. Its address must
//      be in the history, and so must each chunk that was stored to, unless it is zero. The pattern
//      is kept under the path before the oldest of these stores. (V-B1, V-D1)
//   5  If not all values are found, nothing is learnt. [Open; the artifact's rule.] With
//      `learn_address_alone`, the address is learnt.
//   6  `next_pointers` and `value_deltas` are predictors that the paper names as extensions (VII).
//      With the former, an address that isn't in the history is searched where stored pointers lead
//      (next_pointers.hpp). With the latter, values that are found nowhere are derived from the
//      path's last write (value_deltas.hpp).
//   7  Where zeros are searched like other values, their stores don't determine the path. [Open;
//      the artifact's rule]
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/precompute/next_pointers.hpp"
#include "pmemsim/designs/precompute/pending_predictions.hpp"
#include "pmemsim/designs/precompute/pmweaver_parameters.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/designs/precompute/prediction_table.hpp"
#include "pmemsim/designs/precompute/store_history.hpp"
#include "pmemsim/designs/precompute/store_path.hpp"

namespace pmemsim {

struct LearnerStatistics {
  std::uint64_t write_backs = 0;
  std::uint64_t address_unknown = 0;
  std::uint64_t data_unknown = 0;
  std::uint64_t by_next_pointer = 0;
  std::uint64_t by_delta = 0;
  std::uint64_t learnt = 0;
  std::uint64_t replaced = 0;
  std::uint64_t kept = 0;
  std::uint64_t triggered = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("write_backs", write_backs, "lines",
          "Flushes of lines with stores since their last flush (write-backs)",
          part_of("shared.flushes"));
    visit("address_unknown", address_unknown, "lines",
          "Write-backs whose address is not in the store history", part_of("write_backs"));
    visit("data_unknown", data_unknown, "lines",
          "Write-backs whose address is known, but not all of their data", part_of("write_backs"));
    visit("by_next_pointer", by_next_pointer, "lines",
          "Write-backs whose address is in a line to which the store history has a pointer",
          part_of("write_backs"));
    visit("by_delta", by_delta, "lines",
          "Write-backs of which a part is known by its difference from their path's last write",
          part_of("write_backs"));
    visit("learnt", learnt, "patterns", "New patterns in the prediction table",
          at_most("write_backs"));
    visit("replaced", replaced, "patterns", "Patterns that replaced an untrusted one",
          at_most("write_backs"));
    visit("kept", kept, "patterns", "Patterns rejected in favour of another pattern of their path",
          at_most("write_backs"));
    visit("triggered", triggered, "predictions", "Predictions started by a path");
  }
};

class WriteLearner {
 public:
  explicit WriteLearner(const PmWeaverParameters& parameters)
      : parameters_(parameters),
        path_(parameters.path_length),
        history_(parameters.as_artifact()
                     ? StoreHistory::queue(parameters.history_entries)
                     : StoreHistory::by_value(parameters.history_entries, parameters.history_ways)),
        table_(parameters.as_artifact()
                   ? PredictionTable::as_artifact()
                   : PredictionTable(parameters.table_entries, parameters.table_ways)),
        pending_(parameters.pending_entries, parameters.index_entries) {}

  // Sets the contents of PM in which pointers are followed.
  void sees(const Image& pm) { pointers_.emplace(pm); }

  // True if the rules from 3 on apply to the store (rule 2).
  static bool follows(const RetiredStore& store) {
    return store.value.size() == StoreHistory::kChunkBytes ||
           store.value.size() == StoreHistory::kWordBytes;
  }

  // Processes a store. Calls made(PredictedWrite) for each prediction that it completes. `when`:
  // the time of the store.
  template <class Made>
  void stored(const RetiredStore& store, LearnerStatistics& statistics, Made made, Time when = {}) {
    history_.add(store.value, store.site, path_.hash());
    if (!follows(store)) return;
    path_.push(store.site);
    const auto predicted = [&](PredictedWrite write) {
      if (write.next_pointer) write.line = pointers_->follow(write.line, *write.next_pointer);
      if (parameters_.as_artifact()) put_constants(write);
      made(write);
    };
    if (const PredictionTable::Entry* entry = table_.find(path_.hash());
        entry != nullptr && entry->predicts_address()) {
      ++statistics.triggered;
      table_.triggered();
      pending_.open(*entry, predicted);
    }
    pending_.stored(store.site, store.value, predicted, when);
  }

  // Learns from a flush of a line. `stored`: chunks that were stored to since its last write-back.
  void written_back(Line line, const LineData& data, ChunkMask stored,
                    LearnerStatistics& statistics);

  PredictionTable& table() { return table_; }
  const PredictionTable& table() const { return table_; }
  const StoreHistory& history() const { return history_; }
  const PendingPredictions& pending() const { return pending_; }
  void thread_ended() { pending_.clear(); }

 private:
  struct Found {
    WritePattern pattern;
    const StoreHistory::Entry* address = nullptr;
    const StoreHistory::Entry* oldest = nullptr;  // oldest store that determines the path
    ChunkMask missing = 0;                        // chunks that weren't found
    ValueDeltas deltas;
    std::vector<std::uint64_t> stores;  // stores that are used up, in the artifact

    bool has_address() const { return address != nullptr || deltas.address; }
    bool has_data() const { return missing == deltas.chunks; }
  };
  Found look_for(Line line, const LineData& data, ChunkMask stored);
  void look_for_pointer(Line line, Found& found) const;
  void compare_with_last(const LastWrite& write, Found& found) const;
  void learn(const Found& found, LearnerStatistics& statistics);
  void put_constants(PredictedWrite& write) const;

  const PmWeaverParameters parameters_;
  StorePath path_;
  StoreHistory history_;
  PredictionTable table_;
  PendingPredictions pending_;
  std::optional<NextPointers> pointers_;
};

}  // namespace pmemsim
