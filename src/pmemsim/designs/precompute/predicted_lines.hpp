// Which predictions the result buffer has: PMWeaver's organisation of it (V-C2, Figure 14d).
//
//   1  It has so many lines, each with so many predictions, its candidates.
//   2  A prediction of a further line takes the place of all of the line that was predicted longest
//      ago; one candidate too many takes the oldest one's place. [Open: which has to go]
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/precompute/structure_use.hpp"

namespace pmemsim {

class PredictedLines {
 public:
  PredictedLines(std::size_t lines, std::size_t candidates) : lines_(lines), most_(candidates) {}

  // What has to go before there is room for a prediction of the line.
  std::vector<PreparedId> in_the_way(Line line) const {
    const auto found = find(line);
    if (found == known_.end()) {
      return known_.size() < lines_ ? std::vector<PreparedId>{} : known_.front().candidates;
    }
    if (found->candidates.size() < most_) return {};
    return {found->candidates.front()};
  }

  void add(Line line, PreparedId id) {
    auto found = find(line);
    if (found == known_.end()) found = known_.insert(known_.end(), {line, {}});
    found->candidates.push_back(id);
    use_.filled(++predictions_);
    std::rotate(found, found + 1, known_.end());
  }

  void remove(Line line, PreparedId id) {
    const auto found = find(line);
    if (found == known_.end()) return;
    predictions_ -= std::erase(found->candidates, id);
    if (found->candidates.empty()) known_.erase(found);
  }

  // A prediction has to go for another one.
  void displaced() { ++use_.displaced; }
  // A write that came has used one.
  void used() { ++use_.hits; }
  const StructureUse& use() const { return use_; }

 private:
  struct Known {
    Line line;
    std::vector<PreparedId> candidates;  // the oldest first
  };
  std::vector<Known>::iterator find(Line line) {
    return std::ranges::find(known_, line, &Known::line);
  }
  std::vector<Known>::const_iterator find(Line line) const {
    return std::ranges::find(known_, line, &Known::line);
  }

  std::size_t lines_, most_;
  std::vector<Known> known_;  // the one predicted longest ago first
  std::uint64_t predictions_ = 0;
  StructureUse use_;
};

}  // namespace pmemsim
