// The write-combining buffers of the cores. They collect the non-temporal stores of a line before
// these bypass the caches (Intel SDM vol. 3A, Memory Cache Control: Buffering of Write Combining
// Memory Locations). Rules, which the hierarchy and the core implement:
//  1. A line leaves its buffer at the first of these events:
//     - All of its bytes are stored.
//     - Another line needs a buffer, all buffers are in use, and this line's buffer was opened
//       first.
//     - Its core executes a fence, a clflush (which waits for all earlier flushes), a locked
//       instruction, or the begin or end of a region.
//     - The thread leaves the core or ends.
//     - Any component requests the line from the caches or flushes it.
//  2. The caches have no access to a buffer. A buffer keeps the contents that its core has stored.
//     These do not undo newer data that reach the controller first (backend.hpp, rule 6).
//  3. A partly filled line leaves as one write, too. (Processors send segments of 8 bytes, which
//     their controllers combine again.)
// Not modelled: a processor may empty a buffer at any time, and uses the same buffers for its
// misses.
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
  ByteMask bytes;       // bytes stored so far
  std::uint32_t flush;  // number of its flush, which has not left yet
  Time latest;          // time of the latest store
};

class WriteCombiningBuffers {
 public:
  WriteCombiningBuffers(std::uint32_t cores, std::uint32_t buffers)
      : buffers_(buffers), cores_(cores) {}

  // True if any core uses a buffer.
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
  // Removes the buffer that was opened first, if there is one.
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

  const std::uint32_t buffers_;  // buffers of each core
  std::vector<Buffers> cores_;
  std::uint32_t used_ = 0;
};

}  // namespace pmemsim
