// The address ranges of persistent memory, and the newest visible value of each of its lines, which
// the coherent caches contain. Memory (machine/memory/memory.hpp) has the data that have reached
// the device.
#pragma once

#include <vector>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

class PmSpace {
 public:
  struct Range {
    std::uint64_t begin, end;
  };

  void add(Range range) { ranges_.push_back(range); }
  bool contains(std::uint64_t address) const {
    for (const Range& range : ranges_) {
      if (address - range.begin < range.end - range.begin) return true;
    }
    return false;
  }
  bool contains(Line line) const { return contains(line.address()); }

  Image& newest() { return newest_; }
  const Image& newest() const { return newest_; }

 private:
  std::vector<Range> ranges_;
  Image newest_;
};

}  // namespace pmemsim
