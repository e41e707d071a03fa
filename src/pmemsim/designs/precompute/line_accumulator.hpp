// The table that PMWeaver's artifact has instead of the timeout predictor, and of what is known of
// lines since their last write-back: its cache line accumulator.
//
//   1  An entry is a line of PM, when it came, and the time of the latest store to it.
//   2  At each store to PM, first all lines that nobody has stored to for the timeout are sent, as
//      they are; once until the next store.
//   3  A line too many takes the place of the one that came first. That is sent, too, and what was
//      stored to it won't be learnt.
//   4  A line that is written back leaves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/precompute/structure_use.hpp"

namespace pmemsim {

class LineAccumulator {
 public:
  LineAccumulator(std::size_t entries, Picoseconds timeout) : most_(entries), timeout_(timeout) {}

  // Calls sent(line, whether it has left) for each.
  template <class Sent>
  void stored(Line line, Time now, Sent sent) {
    for (Entry& entry : entries_) {
      if (entry.sent || now - entry.stored < timeout_) continue;
      ++use_.hits;
      entry.sent = true;
      sent(entry.line, false);
    }
    auto found = std::ranges::find(entries_, line, &Entry::line);
    if (found == entries_.end()) {
      if (entries_.size() == most_) {
        const Line left = entries_.front().line;
        entries_.erase(entries_.begin());
        ++use_.displaced;
        sent(left, true);
      }
      found = entries_.insert(entries_.end(), {.line = line});
      use_.filled(entries_.size());
    }
    found->stored = now;
    found->sent = false;
  }

  void written_back(Line line) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.line == line; });
  }
  void clear() { entries_.clear(); }
  const StructureUse& use() const { return use_; }

 private:
  struct Entry {
    Line line;
    Time stored{};
    bool sent = false;
  };
  std::size_t most_;
  Picoseconds timeout_;
  std::vector<Entry> entries_;  // the one that came first first
  StructureUse use_;
};

}  // namespace pmemsim
