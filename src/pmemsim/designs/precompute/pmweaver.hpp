// PMWeaver: hardware predicts writes from earlier stores, and operations on them start before the
// write arrives.
//
//   1  Each core has its own learner and predictors (write_learner.hpp, timeout_predictor.hpp),
//      which process all of its stores, to PM and to DRAM, when they retire. [Open: the time. The
//      artifact processes them at the data port, when they leave the store queue.] If the core
//      reports a store later than its retirement, the store has no effect before the report.
//   2  Stores to a line are recorded from its last write-back on, whether it was flushed, evicted
//      or sent. Only flushes are learnt. [Open; the artifact's rule] Stores of another core to the
//      line aren't learnt.
//   3  A prediction consists of the predicted values, merged with the line's other bytes from the
//      caches (V-B2). It arrives at the result buffer after a fixed time, and is merged at that
//      time. A prediction for a line outside PM is dropped.
//   4  The timeout predictor predicts a line with the contents of the caches (V-D2).
//   5  The result buffer is shared. It has a number of lines for each core, and a number of
//      predictions for each line (predicted_lines.hpp). An arriving write uses the newest
//      prediction of its line that has its data. If no prediction has its data, only the address
//      was right (V-C2; designs/backend/result_buffer.hpp).
//   6  The outcome of a prediction changes the confidence of its pattern (prediction_table.hpp).
//      Until then, a prediction changes no visible state (III-C).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/precompute/artifact_validator.hpp"
#include "pmemsim/designs/precompute/line_accumulator.hpp"
#include "pmemsim/designs/precompute/pmweaver_parameters.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/designs/precompute/predicted_lines.hpp"
#include "pmemsim/designs/precompute/timeout_predictor.hpp"
#include "pmemsim/designs/precompute/write_learner.hpp"

namespace pmemsim {

struct PmWeaverStatistics {
  std::uint64_t by_stores = 0;
  std::uint64_t by_timeout = 0;
  std::uint64_t not_pm = 0;
  std::uint64_t prepared = 0;
  std::uint64_t right_by_stores = 0;
  std::uint64_t right_by_timeout = 0;
  std::uint64_t right_late = 0;
  std::uint64_t address_right = 0;
  std::uint64_t reused = 0;
  std::uint64_t address_only = 0;
  std::uint64_t changed = 0;
  std::uint64_t unused = 0;
  std::uint64_t known_late = 0;
  std::uint64_t written_back = 0;
  std::uint64_t address_seen = 0;
  Picoseconds early{}, right_early{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("by_stores", by_stores, "predictions", "Predictions made from stores");
    visit("by_timeout", by_timeout, "predictions",
          "Predictions made by the timeout of a line without stores");
    visit("not_pm", not_pm, "predictions",
          "Predictions with an address outside PM; the other counts exclude them");
    visit.quantity("prepared", prepared, part_of("by_stores", "by_timeout"));
    visit("right_by_stores", right_by_stores, "writes",
          "Writes whose address and data were predicted from stores", share_of("prepared"),
          part_of("by_stores"));
    visit("right_by_timeout", right_by_timeout, "writes",
          "Writes whose address and data were predicted by the timeout", share_of("prepared"),
          part_of("by_timeout"));
    visit("right_late", right_late, "writes",
          "Writes with predicted address and data whose operations had not finished at their "
          "arrival",
          part_of("right_by_stores", "right_by_timeout"));
    visit("address_right", address_right, "writes",
          "Writes whose address was predicted, but not their data", share_of("prepared"));
    visit("reused", reused, "writes",
          "Writes with the data of a prediction that an earlier write has used "
          "(pmweaver.variant=artifact)",
          part_of("received.operated"));
    visit("address_only", address_only, "writes",
          "Writes whose address was predicted, but not their data, by predictions that stay "
          "(pmweaver.variant=artifact)",
          part_of("received.operated"));
    visit("changed", changed, "predictions",
          "Predictions lost because another write changed their line's counter",
          share_of("prepared"));
    visit("unused", unused, "predictions",
          "Predictions displaced, or left at the end of the run, without a write of their line",
          share_of("prepared"));
    visit("early_ns", early,
          "Total time from predictions to their writes, of writes whose address at least was right",
          at_most("run.drained_ns")
              .times(right_by_stores + right_by_timeout + address_right + reused + address_only));
    visit("right_early_ns", right_early,
          "Total time from predictions to their writes, of writes whose address and data were "
          "right",
          part_of("early_ns"));
    visit(
        "known_late", known_late, "writes",
        "Writes whose address at least was right, but predicted less than 50 ns before their "
        "arrival",
        part_of("right_by_stores", "right_by_timeout", "address_right", "reused", "address_only"));
    visit("address_seen", address_seen, "lines",
          "Lines written back from the caches that had been predicted at any earlier time",
          part_of("written_back"));
    visit.quantity("written_back", written_back);
  }
};

// The time from the last store to a line until its flush (Figure 7).
struct WriteBackGaps {
  static constexpr std::array<std::uint64_t, 9> kLimitsNs{10,  50,   100,  150,  300,
                                                          610, 1000, 3000, 10000};
  std::array<std::uint64_t, kLimitsNs.size()> within{};

  void count(Picoseconds gap) {
    for (std::size_t i = 0; i < kLimitsNs.size(); ++i) {
      within[i] += gap.count <= static_cast<std::int64_t>(kLimitsNs[i]) * 1000;
    }
  }
  template <class Visitor>
  void describe(Visitor& visit) const {
    for (std::size_t i = 0; i < kLimitsNs.size(); ++i) {
      const bool longest = i + 1 == kLimitsNs.size();
      visit(name(i), within[i], "lines",
            "Write-backs within this time after the last store to their line",
            part_of(longest ? "write_backs" : name(i + 1)));
    }
  }

 private:
  static std::string name(std::size_t limit) {
    return "write_backs_within_" + std::to_string(kLimitsNs[limit]) + "ns";
  }
};

class PmWeaver final : public Precompute, private WriteValidator {
 public:
  // `recomputes`: outdated results are recomputed at once, not kept.
  PmWeaver(const PmWeaverParameters& parameters, std::uint32_t cores, bool recomputes);
  // Returns the structures of Table I. The paper prints their sizes, from which the sizes of
  // entries follow.
  static Storage storage(const PmWeaverParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context) override {
    context_.emplace(context);
    for (PerCore& core : cores_) core.learner.sees(context.pm_space.newest());
  }
  ResultBufferSize result_buffer() const override;
  WriteValidator* validator() override { return parameters_.as_artifact() ? this : nullptr; }
  std::uint32_t interests() const override {
    return kAllStores | kWriteBacks | (parameters_.as_artifact() ? kWrittenStores : 0u);
  }
  void stored(const RetiredStore& store, Time when) override;
  void written_back(CoreId core, Line line, const LineData& data, WriteBack how,
                    Time when) override;
  void thread_ended(CoreId core) override;
  void outcome(const Outcome& outcome) override;
  void statistics(StatisticsCollector& collector) const override;

 private:
  struct PerCore {
    WriteLearner learner;
    TimeoutPredictor timeout;
    LineAccumulator accumulator;  // replaces `timeout` in the artifact's variant
  };
  // The chunks of a line that were stored to since its last write-back, all by one core.
  struct Stored {
    CoreId core = 0;
    ChunkMask chunks = 0;
    Time latest{};
  };
  // A prediction in flight to the result buffer, or in it.
  struct Predicted {
    CoreId core = 0;
    bool by_timeout = false;
    PredictedWrite write;
    Time made{};
    bool wanted = true;
    bool comparable = true;  // false: the artifact sends other bytes than the line has
  };

  void note_store(const RetiredStore& store, Time when);
  void note_time(CoreId core, Line line, Time when);
  void forget_stores(CoreId core, Line line);
  void send_current_contents(CoreId core, Line line, Time when, bool comparable = true);
  void send(const Predicted& predicted, Time when);
  void arrive(std::uint64_t slot, Time now);
  void check_timeout(std::uint64_t slot, Time now);
  void schedule_timeout(CoreId core, Line line, Time when);
  Prediction prediction_of(const Predicted& predicted, std::uint64_t number) const;
  Prepared validate(const Write& write) override;
  void validated(bool late) override;
  LineData merged(const PredictedWrite& write, Line from) const;
  void add_candidate(PreparedId id, std::uint32_t slot);
  void count_validated(const ArtifactValidator::Verdict& verdict, const Write& write);
  void learn_constants(const ArtifactValidator::Candidate& nearest, const LineData& written);
  void count_right(const Predicted& predicted, const Outcome& outcome);
  void count_address_right(const Predicted& predicted, const Outcome& outcome);
  void note_early(const Predicted& predicted, const Outcome& outcome);
  static void data_wrong(const Predicted& predicted, const Outcome& outcome,
                         PredictionTable& table);
  void count_unused(const Predicted& predicted, Fate fate);

  const PmWeaverParameters parameters_;
  std::optional<LayerContext> context_;
  std::vector<PerCore> cores_;
  LineTable<Stored> stored_;
  LineTable<bool> predicted_;  // lines predicted at any time
  PredictedLines lines_;
  ArtifactValidator validator_;
  ArtifactValidator::Verdict validated_;  // the verdict on the write that has arrived last
  Slab<Predicted> sent_;
  std::vector<std::uint32_t> in_flight_;  // slots of predictions in flight to the buffer
  struct Look {
    CoreId core;
    Line line;
  };
  Slab<Look> looks_;
  LearnerStatistics learnt_;
  PmWeaverStatistics statistics_;
  WriteBackGaps gaps_;
};

}  // namespace pmemsim
