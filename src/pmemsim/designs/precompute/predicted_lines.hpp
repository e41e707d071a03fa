// The predictions in the result buffer, as PMWeaver organises it (V-C2, Figure 14d).
//
//   1  The buffer has a limited number of lines, each with a limited number of predictions, its
//      candidates.
//   2  A prediction of a new line displaces all predictions of the line that was predicted longest
//      ago. A candidate too many displaces the oldest one. [Open: which one is displaced]
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

  // Returns the predictions to discard before a prediction of the line can be added.
  std::vector<PreparedId> to_displace(Line line) const {
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

  // Counts a prediction that another one displaces.
  void displaced() { ++use_.displaced; }
  // Counts a prediction that an arriving write has used.
  void used() { ++use_.hits; }
  const StructureUse& use() const { return use_; }

 private:
  struct Known {
    Line line;
    std::vector<PreparedId> candidates;  // oldest first
  };
  std::vector<Known>::iterator find(Line line) {
    return std::ranges::find(known_, line, &Known::line);
  }
  std::vector<Known>::const_iterator find(Line line) const {
    return std::ranges::find(known_, line, &Known::line);
  }

  std::size_t lines_, most_;
  std::vector<Known> known_;  // line predicted longest ago first
  std::uint64_t predictions_ = 0;
  StructureUse use_;
};

}  // namespace pmemsim
