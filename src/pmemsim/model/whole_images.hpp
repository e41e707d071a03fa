// The images that a model allows, each as a whole, for whoever shows them to somebody. The next one
// costs what it differs in from the one before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pmemsim/mem/image.hpp"
#include "pmemsim/model/allowed_images.hpp"

namespace pmemsim {

class WholeImages {
 public:
  // As AllowedImages.
  WholeImages(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
              std::uint64_t most, LeftOut without = VisibleOrder::kNothing);
  WholeImages(const WholeImages&) = delete;
  WholeImages& operator=(const WholeImages&) = delete;

  // Begins again; AllowedImages, rule 4. `reads` is asked until the next call.
  void explore_by(const KnownReads& reads);

  // Goes to the next image. False: there are no more. Throws trace::TraceError.
  bool next();
  // Goes to the one of this number, from 1; back, too. False: there are only number() of them.
  bool go_to(std::uint64_t number);
  std::uint64_t number() const { return number_; }

  const Image& image() const { return image_; }
  // Lines in which it may differ from what it was at the last call, or from nothing at the first.
  std::vector<Line> changed();

  // Lines that have lost something visible, those first that were stored to first; and the image
  // with or without such a loss, until the next one.
  std::vector<Line> lost_lines() const { return images_->lost_lines(); }
  void bring_back(std::span<const std::uint64_t> numbers, bool back);
  std::vector<std::string> story() const;

  const AllowedImages& images() const { return *images_; }

 private:
  void begin_again();
  void compose();
  void write(Line line, const LineData& data);

  const trace::TraceFile& trace_;
  const PersistencyRules rules_;
  const std::uint64_t seed_, most_;
  const LeftOut without_;
  std::optional<AllowedImages> images_;
  std::unordered_map<std::uint64_t, AllowedImages::Explored> explored_;  // by number
  std::uint64_t number_ = 0;
  bool ended_ = false;
  Image image_;
  std::vector<Line> differing_;                // from the base
  std::unordered_set<std::uint64_t> written_;  // ever, by their numbers
  std::unordered_set<std::uint64_t> changed_;
};

}  // namespace pmemsim
