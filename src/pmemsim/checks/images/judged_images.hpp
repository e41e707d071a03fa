// The images that a model allows, judged, as few of them as possible by showing them.
//
//   1  What the checker has read of those that were shown tells the verdict of others
//      (checks/images/read_tree.hpp), which aren't shown.
//   2  What was read is taken over when so many are shown: 1, 2, 4, ..., kTakenOver, and each
//      kTakenOver more. So it doesn't depend on how many checkers work at once, and how fast, which
//      images are shown.
//   3  What is known of reads ends the search early (checks/images/image_search.hpp, rule 3).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "pmemsim/checks/images/image_checker.hpp"
#include "pmemsim/checks/images/image_sequence.hpp"
#include "pmemsim/checks/images/read_tree.hpp"
#include "pmemsim/checks/images/unit_hashes.hpp"
#include "pmemsim/checks/images/watching.hpp"

namespace pmemsim {

class JudgedImages {
 public:
  static constexpr std::uint64_t kTakenOver = 64;
  static constexpr std::uint64_t kPageBytes = 4096;

  // `most` as of the images. `first`: what PM holds when the recording begins, if the checker is to
  // be watched.
  JudgedImages(ImageSequence& images, std::uint64_t most, std::shared_ptr<const Image> first);
  JudgedImages(const JudgedImages&) = delete;
  JudgedImages& operator=(const JudgedImages&) = delete;

  // Once. Judges all, until one is rejected, `go_on` says no, the images have come to number
  // `upto`, or there are no more. The number of the first one that was rejected, which they have
  // come to then; 0: there is none.
  std::uint64_t judge(ImageChecker& checker, const std::function<bool()>& go_on,
                      std::uint64_t upto = UINT64_MAX);

  // How many were shown to find that; none of them may be left out.
  std::uint64_t shown() const { return shown_; }
  // In which lines the images may differ from the last one that was shown.
  std::vector<Line> take_changed();

 private:
  bool is_known();
  void show(ImageChecker& checker);
  void take_over(ImageChecker& checker);

  ImageSequence& images_;
  const std::uint64_t most_;
  const std::shared_ptr<const Image> first_;
  ReadTree tree_;
  UnitHashes hashes_;
  Watching watching_;
  std::unordered_set<std::uint64_t> changed_;          // lines, since one was shown
  std::vector<std::uint64_t> numbers_;                 // of the images that were shown
  std::map<std::uint64_t, UnitHashes::Then> watched_;  // by the same, what they held
  std::optional<KnownReads> reads_;
  std::uint64_t shown_ = 0;
};

std::shared_ptr<const Image> first_image(const trace::TraceFile& trace);

}  // namespace pmemsim
