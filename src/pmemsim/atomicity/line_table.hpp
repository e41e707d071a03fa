// A table from lines to values for what one region touches: found in one or two steps, emptied at
// once. Values stay where they are until the table grows.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/core/units.hpp"

namespace pmemsim {

template <class Value>
class LineTable {
 public:
  Value* find(Line line) {
    Entry& entry = entries_[place(line)];
    return entry.generation == generation_ ? &entry.value : nullptr;
  }

  // The line must not be there.
  Value& insert(Line line) {
    if (2 * ++size_ > entries_.size()) grow();
    Entry& entry = entries_[place(line)];
    entry = {generation_, line, {}};
    return entry.value;
  }

  void clear() {
    ++generation_;
    size_ = 0;
  }

 private:
  struct Entry {
    std::uint64_t generation = 0;
    Line line;
    Value value{};
  };

  // Where the line stands, or where it would.
  std::size_t place(Line line) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = ((line.number * 0x9e3779b97f4a7c15) >> 32) & mask;
    while (entries_[at].generation == generation_ && entries_[at].line != line)
      at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.generation == generation_) entries_[place(entry.line)] = entry;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(64);
  std::uint64_t generation_ = 1;
  std::size_t size_ = 0;
};

}  // namespace pmemsim
