// The cache line accumulator of PMWeaver's artifact. It replaces the timeout predictor, and limits
// the record of stores to lines since their last write-back.
//
//   1  An entry is a line of PM and the time of the latest store to it. Entries are in the order of
//      their insertion.
//   2  At each store to PM, all lines without a store for the duration of the timeout are sent
//      first, with their current contents. Each is sent once until its next store.
//   3  If the table is full, a new line displaces the line that was inserted first. The displaced
//      line is sent, too, and its stores won't be learnt.
//   4  A line that is written back is removed.
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

  // Calls sent(line, left) for each line that is sent; `left`: true if the line was displaced.
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
  std::vector<Entry> entries_;  // first inserted one first
  StructureUse use_;
};

}  // namespace pmemsim
