// The images that a crash may leave on any machine that keeps a design's promises
// (promised_order.hpp), one after the other, each once: all of them, or as many as asked for.
//
//   1  If there are no more sets than asked for, all of them.
//   2  Otherwise first the likely ones (promised_sets.hpp), then random ones, rounds of them, until
//      three rounds have found nothing new. Who doesn't say how many gets all behind the likely
//      ones, if they can be gone through at all.
//
// The same recording, design, seed and number give the same images in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "pmemsim/checks/images/design_promises.hpp"
#include "pmemsim/checks/images/image_sequence.hpp"
#include "pmemsim/checks/images/promised_sets.hpp"
#include "pmemsim/checks/images/promised_values.hpp"

namespace pmemsim {

class PromisedImages final : public ImageSequence {
 public:
  static constexpr std::uint64_t kNoEnd = UINT64_MAX;  // until somebody has seen enough
  // More are never gone through one by one.
  static constexpr std::uint64_t kMostAll = 10'000'000;

  // Throws trace::TraceError.
  PromisedImages(const trace::TraceFile& trace, const DesignPromises& promises, std::uint64_t seed,
                 std::uint64_t most);

  bool next() override;
  bool go_to(std::uint64_t number) override;
  std::uint64_t number() const override { return number_; }

  const Image& image() const override { return values_.image(); }
  std::vector<Line> changed() override { return values_.take_changed(); }

  // Groups of the order.
  std::vector<std::uint64_t> losses() const override;
  void bring_back(std::span<const std::uint64_t> groups, bool back) override;
  std::vector<std::string> story() const override;

  double possible() const override {
    return complete_ ? static_cast<double>(hashes_.size()) : count_.sets;
  }
  bool complete() const override { return complete_; }
  // Each promise, right before it is made, and the end.
  std::uint64_t instants() const override;
  std::uint64_t fingerprint() const override;

  const ProgramHistory& history() const { return history_; }
  const PromisedOrder& order() const { return order_; }
  // Which groups the image has.
  bool has(PromisedOrder::Group group) const { return values_.has(group); }

 private:
  enum class Phase : std::uint8_t { kBegin, kAll, kLikely, kRandom, kEnd };

  bool next_set();
  void begin_again();
  void begin(Phase phase);
  bool next_phase();
  void go_to_set(const PromisedSet& set);

  const trace::TraceFile& trace_;
  const DesignPromises promises_;
  const std::uint64_t seed_, most_;
  const ProgramHistory history_;
  const PromisedOrder order_;
  const PromisedOrder::Count count_;
  const std::vector<PromisedSet> likely_;

  PromisedValues values_;
  Phase phase_ = Phase::kBegin;
  std::optional<EachPromisedSet> all_;
  std::size_t likely_shown_ = 0;
  std::uint64_t drawn_ = 0, found_nothing_ = 0;
  std::uint64_t number_ = 0;
  bool complete_ = false;
  std::unordered_set<std::uint64_t> hashes_;
  std::vector<PromisedOrder::Group> brought_back_;
};

}  // namespace pmemsim
