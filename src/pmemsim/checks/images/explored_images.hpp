// All images of an instant, of which only those are made that somebody has to see: lines multiply
// where a checker has read them.
//
//   1  A line that is open is as it was visible, unless it is said to be otherwise.
//   2  The images in which some lines are *fixed* are all judged if a run has the verdict of the
//      one whose other lines are as they were visible (read_tree.hpp), and if so are those in which
//      one line more is fixed, for each line that the run has read, in turn, and each of its other
//      contents; lines that had their turn before are fixed as they were visible. An image that
//      agrees with the run in all lines that are read is judged by it; any other one is among those
//      that the first line stands for in which it differs.
//   3  If there is no run, that one image is *missing*: somebody has to show it. Then they are gone
//      through again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/checks/images/line_states.hpp"
#include "pmemsim/checks/images/persistency_model.hpp"
#include "pmemsim/checks/images/read_tree.hpp"
#include "pmemsim/checks/images/unit_hashes.hpp"

namespace pmemsim {

class ExploredImages {
 public:
  // Lines that aren't as they were visible, and which of their pieces are there.
  using Fixed = std::vector<std::pair<Line, Presence>>;
  // More contents of a line that is read aren't gone through.
  static constexpr double kMostStates = 4096;

  ExploredImages(std::shared_ptr<const Image> first, std::uint64_t unit_bytes)
      : view_(std::move(first), unit_bytes) {}

  // Goes to the model's next instant, beginning with the first one.
  void next_instant(const PersistencyModel& model);
  // Images of this instant that are missing, at most so many. Nothing: they can't all be gone
  // through, or `go_on`, which is asked all along, says no.
  std::optional<std::vector<Fixed>> missing(const ReadTree& tree, std::size_t most,
                                            const std::function<bool()>& go_on);

 private:
  struct State {
    LineData contents;
    Presence present;
  };
  struct OpenLine {
    Line line;
    const PersistencyModel::Pieces* pieces;
    LineData base;
    std::optional<std::vector<State>> others;  // than as it was visible; when it has been read
    bool fixed = false;
  };

  static LineData visible(const OpenLine& line);
  bool find_others(OpenLine& line) const;
  std::vector<std::size_t> read_lines(const ReadTree::Run& run) const;
  bool explore(const ReadTree& tree);

  UnitHashes view_;  // of the image that is looked at
  std::vector<OpenLine> lines_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> in_unit_;  // indices of lines
  Fixed fixed_;
  std::vector<Fixed> missing_;
  std::size_t most_ = 0;
  const std::function<bool()>* go_on_ = nullptr;
};

}  // namespace pmemsim
