// my-design: operations on a line's address start with the first store to it. Replace these rules
// by those of your mechanism.
//
//   1  A store to PM predicts a write of its line, unless the core's store before it was to the
//      same line.
//   2  Data aren't predicted: only what follows from the line's address is prepared.
//   3  The buffer of results has `result_entries` entries. While all are taken, nothing is
//      predicted; an entry is given up when it is too old.
#pragma once

#include <optional>
#include <vector>

#include "pmemsim/design/precompute_layer.hpp"

namespace my_design {

using namespace pmemsim;

struct MyDesignParameters {
  std::uint32_t result_entries = 64;
  Picoseconds most_age{10'000'000};

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("result_entries", result_entries, {.least = 1, .most = 1e6},
          "Largest number of predictions whose results are kept at the same time");
    visit("most_age", most_age, {.most = 1e12}, "Time for which results are kept");
  }
};

struct MyDesignStatistics {
  std::uint64_t predicted = 0, used = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("predicted", predicted, "lines", "Lines whose write was predicted");
    visit("used", used, "lines",
          "Lines with a predicted write that were written while their "
          "results were kept",
          part_of("predicted"));
  }
};

class MyDesign final : public Precompute {
 public:
  MyDesign(std::uint32_t cores, const MyDesignParameters& parameters)
      : parameters_(parameters), last_(cores) {}

  void connect(const LayerContext& context) override { context_.emplace(context); }
  ResultBufferSize result_buffer() const override {
    return {.entries = parameters_.result_entries, .most_age = parameters_.most_age};
  }
  std::uint32_t interests() const override { return kAllStores; }
  void thread_ended(CoreId core) override { context_->pm.predictions().discard_thread(core); }
  void stored(const RetiredStore& store, Time when) override;
  void outcome(const Outcome& outcome) override;
  void statistics(StatisticsCollector& collector) const override {
    collector.group("my_design", statistics_);
  }

 private:
  const MyDesignParameters parameters_;
  std::optional<LayerContext> context_;
  std::vector<std::optional<Line>> last_;  // by core: the line of its last store to PM
  MyDesignStatistics statistics_;
};

}  // namespace my_design
