// The images that a crash may leave by a design's durability guarantees (guaranteed_order.hpp):
// those that some machine may leave that keeps the guarantees. Each is returned once: all of them,
// or a given number. Images that are likely to expose bugs come first (image_search.hpp,
// group_sets.hpp).
//
// The same recording, design, seed and number give the same images in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/checks/images/design_guarantees.hpp"
#include "pmemsim/checks/images/group_sets.hpp"
#include "pmemsim/checks/images/group_values.hpp"
#include "pmemsim/checks/images/image_search.hpp"
#include "pmemsim/checks/images/image_sequence.hpp"

namespace pmemsim {

class DesignImages final : public ImageSequence, private ImageSource {
 public:
  // Reads the recording. Throws trace::TraceError.
  DesignImages(const trace::TraceFile& trace, const DesignGuarantees& design, std::uint64_t seed,
               std::uint64_t most);

  bool next() override;
  bool go_to(std::uint64_t number) override;
  std::uint64_t number() const override { return search_->shown(); }

  const Image& image() const override { return values_.image(); }
  std::vector<Line> changed() override { return values_.take_changed(); }

  // Losses are numbered by the groups of order().
  std::vector<std::uint64_t> losses() const override;
  void restore_losses(std::span<const std::uint64_t> groups, bool restored) override;
  std::vector<std::string> explanation() const override;

  double possible() const override { return search_->possible(); }
  bool complete() const override { return search_->complete(); }
  // Returns the number of instants at which crashes are tried: one right before each guarantee is
  // given, and the end of the recording.
  std::uint64_t instants() const override;
  std::uint64_t fingerprint() const override { return search_->fingerprint(); }

  const ProgramHistory& history() const { return history_; }
  const GuaranteedOrder& order() const { return order_; }
  // True if the image contains the group.
  bool has(GuaranteedOrder::Group group) const { return values_.has(group); }

 private:
  void begin(Pass pass, std::uint64_t draws) override;
  // The first round has all likely sets.
  bool has_another_likely_round() const override { return false; }
  bool next_set() override;
  std::uint64_t hash() const override { return values_.hash(); }

  void begin_again();
  void go_to_set(const GroupSet& set);

  const trace::TraceFile& trace_;
  const DesignGuarantees design_;
  const std::uint64_t seed_, most_;
  const ProgramHistory history_;
  const GuaranteedOrder order_;
  const double sets_;
  const std::vector<GroupSet> likely_;

  GroupValues values_;
  std::optional<ImageSearch> search_;
  Pass pass_ = Pass::kAll;
  std::optional<EachGroupSet> all_;
  std::size_t likely_shown_ = 0;
  std::uint64_t drawn_ = 0, draws_left_ = 0;
  std::vector<GuaranteedOrder::Group> restored_;
};

}  // namespace pmemsim
