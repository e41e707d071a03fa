// The write-combining buffers of the cores, in which non-temporal stores of a line come together
// before they go past the caches (Intel SDM vol. 3A, Memory Cache Control: Buffering of Write
// Combining Memory Locations). Rules, the hierarchy's and the core's:
//  1. A line leaves its buffer when all of its bytes are stored; when another line needs a buffer
//     and all are in use, the one opened first; with its core's next fence, clflush (which waits
//     for all flushes before it), locked instruction, begin or end of a region, and when the
//     thread leaves the core or ends; and when anybody asks the caches for the line or flushes it.
//  2. A buffer is out of reach of the caches: what it holds is as the core left it, and newer data
//     that reach the controller first aren't undone by it (Backend, rule 6).
//  3. A line that leaves in part is one write all the same. (Processors send pieces of 8 bytes,
//     which their controllers put together again.)
// Not modelled: that a processor may empty a buffer at any time, and shares them with its misses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct CombinedLine {
  Line line;
  ByteMask bytes;       // stored so far
  std::uint32_t flush;  // its write, which hasn't left yet
  Time latest;          // store
};

class WriteCombiningBuffers {
 public:
  WriteCombiningBuffers(std::uint32_t cores, std::uint32_t buffers)
      : buffers_(buffers), cores_(cores) {}

  // In use by any core.
  bool any() const { return used_ > 0; }
  bool full(CoreId core) const { return cores_[core].size() == buffers_; }
  CombinedLine* find(CoreId core, Line line) {
    const auto found = place(core, line);
    return found == cores_[core].end() ? nullptr : &*found;
  }
  void open(CoreId core, const CombinedLine& combined) {
    cores_[core].push_back(combined);
    ++used_;
  }
  // The one opened first, if there is one.
  std::optional<CombinedLine> take_oldest(CoreId core) {
    return cores_[core].empty() ? std::optional<CombinedLine>{} : take(core, cores_[core].begin());
  }
  std::optional<CombinedLine> take(CoreId core, Line line) {
    const auto found = place(core, line);
    return found == cores_[core].end() ? std::optional<CombinedLine>{} : take(core, found);
  }

 private:
  using Buffers = std::vector<CombinedLine>;  // in the order in which they were opened

  Buffers::iterator place(CoreId core, Line line) {
    return std::find_if(cores_[core].begin(), cores_[core].end(),
                        [&](const CombinedLine& other) { return other.line == line; });
  }
  CombinedLine take(CoreId core, Buffers::iterator at) {
    const CombinedLine combined = *at;
    cores_[core].erase(at);
    --used_;
    return combined;
  }

  const std::uint32_t buffers_;  // of a core
  std::vector<Buffers> cores_;
  std::uint32_t used_ = 0;
};

}  // namespace pmemsim
