// Lines without a store for some time: PMWeaver's timeout predictor table (V-D2, Figure 17).
//
//   1  An entry is a line of PM and the time of the latest store to it. A new line displaces the
//      one whose latest store is the oldest.
//   2  An entry fires when the timeout has passed since that store, once until the next store. The
//      prediction is that the line will be written with its current contents. Timers count ticks;
//      stores reset them. [Open: a tick begins with the store]
//   3  A line that is written back is removed. [Open]
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/precompute/structure_use.hpp"

namespace pmemsim {

class TimeoutPredictor {
 public:
  TimeoutPredictor(std::size_t entries, Picoseconds timeout) : most_(entries), timeout_(timeout) {}

  // Returns the time at which look() has to be called for the line, unless such a call is scheduled
  // already. The store may have retired before `now`.
  std::optional<Time> stored(Line line, Time when, Time now) {
    auto found = std::ranges::find(entries_, line, &Entry::line);
    if (found == entries_.end()) {
      if (entries_.size() == most_) {
        ++use_.displaced;
        entries_.erase(std::ranges::min_element(entries_, {}, &Entry::stored));
      }
      found = entries_.insert(entries_.end(), {.line = line});
      use_.filled(entries_.size());
    }
    found->stored = when;
    if (found->look != kNever) return {};
    return found->look = std::max(when + timeout_, now);
  }

  void written_back(Line line) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.line == line; });
  }
  void clear() { entries_.clear(); }
  const StructureUse& use() const { return use_; }

  // The result of look(): the line fires, or has to be checked again, or was removed.
  struct Look {
    bool fires = false;
    std::optional<Time> again{};
  };
  Look look(Line line, Time now) {
    const auto found = std::ranges::find(entries_, line, &Entry::line);
    if (found == entries_.end() || found->look != now) return {};
    const Time due = found->stored + timeout_;
    found->look = due > now ? due : kNever;
    if (due > now) return {.again = due};
    ++use_.hits;
    return {.fires = true};
  }

 private:
  struct Entry {
    Line line;
    Time stored{};
    Time look = kNever;  // time of the next look()
  };
  std::size_t most_;
  Picoseconds timeout_;
  std::vector<Entry> entries_;
  StructureUse use_;
};

}  // namespace pmemsim
