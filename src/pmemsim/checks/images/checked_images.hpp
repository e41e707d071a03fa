// Finds the verdicts on the images that a model allows, and shows as few of these images as
// possible to the checker.
//
//   1  The data that the checker has read from shown images determine the verdicts of other images
//      (checks/images/verdict_tree.hpp). The latter are not shown.
//   2  Reads are added to the tree after 1, 2, 4, ..., kTakenOver shown images, and then after
//      every kTakenOver shown images. So the set of shown images does not depend on the number of
//      parallel checkers and their speed.
//   3  Known reads end the search early (checks/images/image_search.hpp, rule 3).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "pmemsim/checks/images/content_hashes.hpp"
#include "pmemsim/checks/images/image_checker.hpp"
#include "pmemsim/checks/images/image_sequence.hpp"
#include "pmemsim/checks/images/verdict_tree.hpp"
#include "pmemsim/checks/images/watching.hpp"

namespace pmemsim {

class CheckedImages {
 public:
  static constexpr std::uint64_t kTakenOver = 64;
  static constexpr std::uint64_t kPageBytes = 4096;

  // `most`: the maximum number of images to show, as passed to `images`. `first`: the recording's
  // initial contents of PM; nullptr: the checker's reads are not watched.
  CheckedImages(ImageSequence& images, std::uint64_t most, std::shared_ptr<const Image> first);
  CheckedImages(const CheckedImages&) = delete;
  CheckedImages& operator=(const CheckedImages&) = delete;

  // Checks the images until one is rejected, `keep_going` returns false, the image with number
  // `upto` is reached, or there are no more. Call it once. Returns the number of the first rejected
  // image, which becomes the current image of `images`. Returns 0 if no image was rejected.
  std::uint64_t check_image(ImageChecker& checker, const std::function<bool()>& keep_going,
                            std::uint64_t upto = UINT64_MAX);

  // Returns the number of shown images, up to the first rejected image if there is one.
  std::uint64_t shown() const { return shown_; }
  // Returns the lines in which the images may differ from the last shown image.
  std::vector<Line> take_changed();

 private:
  bool is_known();
  void show(ImageChecker& checker);
  void take_over(ImageChecker& checker);

  ImageSequence& images_;
  const std::uint64_t most_;
  const std::shared_ptr<const Image> first_;
  VerdictTree tree_;
  ContentHashes hashes_;
  Watching watching_;
  std::unordered_set<std::uint64_t> changed_;  // Lines changed since the last shown image
  std::vector<std::uint64_t> numbers_;         // Numbers of the shown images
  std::map<std::uint64_t, ContentHashes::Snapshot>
      watched_;  // Image contents, by index in numbers_
  std::optional<KnownReads> reads_;
  std::uint64_t shown_ = 0;
};

std::shared_ptr<const Image> first_image(const trace::TraceFile& trace);

}  // namespace pmemsim
