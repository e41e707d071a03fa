#include "pmemsim/checks/images/explored_images.hpp"

#include <algorithm>

namespace pmemsim {

// Restores the visible contents of lines that are no longer open.
void ExploredImages::next_instant(const PersistencyModel& model) {
  lines_.clear();
  in_unit_.clear();
  for (const auto& [number, segments] : model.open()) {
    const Line line{number};
    in_unit_[view_.unit_of(line)].push_back(lines_.size());
    lines_.push_back({.line = line,
                      .segments = &segments,
                      .base = model.base().read(line),
                      .others = {},
                      .fixed = false});
    view_.write(line, visible(lines_.back()));
  }
}

LineData ExploredImages::visible(const OpenLine& line) {
  return contents_of(line.base, *line.segments, [](std::size_t) { return true; });
}

std::optional<std::vector<ExploredImages::Fixed>> ExploredImages::missing(
    const VerdictTree& tree, std::size_t most, const std::function<bool()>& keep_going) {
  missing_.clear();
  most_ = most;
  keep_going_ = &keep_going;
  if (!explore(tree)) return std::nullopt;
  return std::move(missing_);
}

// Rule 2. Returns false if not all images can be gone through.
bool ExploredImages::explore(const VerdictTree& tree) {
  if (missing_.size() == most_) return true;
  if (!(*keep_going_)()) return false;
  const VerdictTree::Run* run = tree.find(view_);
  if (run == nullptr) {
    missing_.push_back(fixed_);
    return true;
  }
  const std::vector<std::size_t> read = read_lines(*run);
  bool all = true;
  for (const std::size_t index : read) {
    OpenLine& line = lines_[index];
    all = all && find_others(line);
    if (!all) break;
    line.fixed = true;
    for (const State& state : *line.others) {
      view_.write(line.line, state.contents);
      fixed_.emplace_back(line.line, state.present);
      all = all && explore(tree);
      fixed_.pop_back();
    }
    view_.write(line.line, visible(line));
  }
  for (const std::size_t index : read) lines_[index].fixed = false;
  return all;
}

// Returns the lines that are not fixed, in the order in which the run has read them.
std::vector<std::size_t> ExploredImages::read_lines(const VerdictTree::Run& run) const {
  std::vector<std::size_t> found;
  for (const VerdictTree::Read& read : run.reads) {
    const auto lines = in_unit_.find(read.unit);
    if (lines == in_unit_.end()) continue;
    std::ranges::copy_if(lines->second, std::back_inserter(found),
                         [&](std::size_t index) { return !lines_[index].fixed; });
  }
  return found;
}

bool ExploredImages::find_others(OpenLine& line) const {
  if (line.others) return true;
  if (count_states(*line.segments, UINT64_MAX) > kMostStates) return false;
  line.others.emplace();
  const LineData now = visible(line);
  for_each_state(*line.segments, [&](const Presence& present) {
    const LineData contents =
        contents_of(line.base, *line.segments, [&](std::size_t i) { return present[i]; });
    if (contents == now) return;
    if (std::ranges::find(*line.others, contents, &State::contents) != line.others->end()) return;
    line.others->push_back({contents, present});
  });
  return true;
}

}  // namespace pmemsim
