// The images that a model allows, each as a whole image. The cost of the next one depends on its
// difference from the previous one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pmemsim/checks/images/allowed_images.hpp"
#include "pmemsim/checks/images/image_sequence.hpp"
#include "pmemsim/checks/images/lost_stores.hpp"
#include "pmemsim/checks/rules/persist_calls.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim {

class WholeImages final : public ImageSequence {
 public:
  // Has the parameters of AllowedImages.
  WholeImages(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
              std::uint64_t most, Variation variation = {});

  void explore_by(const KnownReads& reads) override;
  bool explored() const override { return images_->explored().has_value(); }
  bool depend_on_reads() const override {
    return images_->explores_reads_first() || images_->explores_reads_later();
  }

  bool next() override;
  bool go_to(std::uint64_t number) override;
  std::uint64_t number() const override { return number_; }

  const Image& image() const override { return image_; }
  std::vector<Line> changed() override;

  // Returns the lines of which the image lacks visible data, in the order of their last stores.
  std::vector<Line> lost_lines() const { return images_->lost_lines(); }
  std::vector<std::uint64_t> losses() const override;
  void restore_losses(std::span<const std::uint64_t> numbers, bool restored) override;
  std::vector<std::string> explanation() const override;
  std::vector<LostStore> lost_stores() const;

  double possible() const override { return images_->search().possible(); }
  bool complete() const override { return images_->search().complete(); }
  bool exact() const override { return images_->search().exact(); }
  std::uint64_t instants() const override { return images_->instants(); }
  std::uint64_t fingerprint() const override { return images_->search().fingerprint(); }

  const AllowedImages& images() const { return *images_; }

 private:
  void begin_again();
  std::span<const check::PersistCall> calls() const;
  void compose();
  void write(Line line, const LineData& data);

  const trace::TraceFile& trace_;
  const PersistencyRules rules_;
  const std::uint64_t seed_, most_;
  const Variation variation_;
  std::optional<AllowedImages> images_;
  std::unordered_map<std::uint64_t, AllowedImages::Explored> explored_;  // By number
  std::uint64_t number_ = 0;
  bool ended_ = false;
  Image image_;
  std::vector<Line> differing_;                // From the base
  std::unordered_set<std::uint64_t> written_;  // Numbers of all lines ever written
  std::unordered_set<std::uint64_t> changed_;
  mutable std::optional<std::vector<check::PersistCall>> calls_;  // Set by calls()
};

}  // namespace pmemsim
