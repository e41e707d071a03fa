// Finds verdicts for all images of an instant, and makes only the images that have to be shown.
// Only lines that a checker has read are varied.
//
//   1  An open line has its visible contents, unless it is fixed.
//   2  A step covers all images in which some lines are *fixed*. Its first image has the visible
//      contents of all other lines, and must have the verdict of a run (verdict_tree.hpp). A next
//      step follows for each open line that the run has read and that isn't fixed, in the order of
//      the reads, and for each of the line's other contents. The next step fixes this line with
//      these contents, and the lines before it with their visible contents. So the steps cover all
//      images. An image that agrees with the run in all lines read has the run's verdict. Any other
//      image is in the step of the first line in which it differs.
//   3  If no run gives the first image of a step its verdict, this image is *missing*: it has to be
//      shown. Its next steps follow when missing() is called again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/checks/images/content_hashes.hpp"
#include "pmemsim/checks/images/line_states.hpp"
#include "pmemsim/checks/images/persistency_model.hpp"
#include "pmemsim/checks/images/verdict_tree.hpp"

namespace pmemsim {

class ExploredImages {
 public:
  // Lines without their visible contents, and the segments of them that are in the image.
  using Fixed = std::vector<std::pair<Line, Presence>>;
  // A read line with more possible contents than this ends the exploration without a result.
  static constexpr double kMostStates = 4096;

  ExploredImages(std::shared_ptr<const Image> first, std::uint64_t unit_bytes)
      : view_(std::move(first), unit_bytes) {}

  // Moves to the model's next instant, starting with the first one.
  void next_instant(const PersistencyModel& model);
  // Returns at most `most` missing images of this instant. Returns nothing if there are too many
  // images to go through, or if `keep_going`, which is called again and again, returns false.
  std::optional<std::vector<Fixed>> missing(const VerdictTree& tree, std::size_t most,
                                            const std::function<bool()>& keep_going);

 private:
  struct State {
    LineData contents;
    Presence present;
  };
  struct OpenLine {
    Line line;
    const PersistencyModel::Segments* segments;
    LineData base;
    // The contents other than the visible one; set once the line has been read.
    std::optional<std::vector<State>> others;
    bool fixed = false;
  };

  static LineData visible(const OpenLine& line);
  bool find_others(OpenLine& line) const;
  std::vector<std::size_t> read_lines(const VerdictTree::Run& run) const;
  bool explore(const VerdictTree& tree);

  ContentHashes view_;  // Hashes of the image under consideration
  std::vector<OpenLine> lines_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> in_unit_;  // Indices in lines_
  Fixed fixed_;
  std::vector<Fixed> missing_;
  std::size_t most_ = 0;
  const std::function<bool()>* keep_going_ = nullptr;
};

}  // namespace pmemsim
