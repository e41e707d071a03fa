// The write-combining buffers of the cores. They collect the non-temporal stores of a line before
// these bypass the caches (Intel SDM vol. 3A, Memory Cache Control: Buffering of Write Combining
// Memory Locations). Rules, which the hierarchy and the core implement:
//  1. A line leaves its buffer at the first of these events:
//     - All of its bytes are stored.
//     - Another line needs a buffer, all buffers are in use, and this line's buffer was opened
//       before all others that have not left.
//     - Its core executes a fence, a clflush (which waits for all earlier flushes), a locked
//       instruction, or the begin or end of a region.
//     - The thread leaves the core or ends.
//     - Any component requests the line from the caches or flushes it.
//  2. The caches have no access to a buffer. A buffer keeps the contents that its core has stored.
//     These do not undo newer data that reach the controller first (backend.hpp, rule 6).
//  3. A partly filled line leaves as one write, too. (Processors send segments of 8 bytes, which
//     their controllers combine again.)
//  4. A buffer is in use until the write of its line has been acknowledged: the core keeps the data
//     until the controller has accepted them (Intel optimization manual, Write Combining). A store
//     that needs a buffer while all are in use stalls in the store queue.
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
      : buffers_(buffers), cores_(cores), leaving_(cores, 0) {}

  // True if a buffer of any core collects stores.
  bool any() const { return open_ > 0; }
  bool all_in_use(CoreId core) const { return cores_[core].size() + leaving_[core] == buffers_; }
  // Frees a buffer whose write has been acknowledged.
  void acknowledged(CoreId core) { --leaving_[core]; }
  CombinedLine* find(CoreId core, Line line) {
    const auto found = place(core, line);
    return found == cores_[core].end() ? nullptr : &*found;
  }
  void open(CoreId core, const CombinedLine& combined) {
    cores_[core].push_back(combined);
    ++open_;
  }
  // Takes the line whose buffer was opened first, if there is one. The buffer stays in use until
  // acknowledged().
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
    --open_;
    ++leaving_[core];
    return combined;
  }

  const std::uint32_t buffers_;         // buffers of each core
  std::vector<Buffers> cores_;          // the buffers that collect stores
  std::vector<std::uint32_t> leaving_;  // number of each core's buffers whose line has left
  std::uint32_t open_ = 0;
};

}  // namespace pmemsim
