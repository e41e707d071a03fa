// Bits that a line has beyond its 64 bytes, as in a DIMM's ninth chip. They are sent with a write
// through its queue to the device, and are dropped with it. This table has, for each line,
// the bits of the newest write that was accepted and not dropped.
//
// The operation that owns the table calls accepted(), dropped() and written() for each write
// (BackendOperation). Writes are identified by Encoded::order.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

template <class Bits>
class SpareBits {
 public:
  // Returns the line's bits; all zero if it hasn't been written.
  Bits of(Line line) const {
    const auto found = newest_.find(line.number);
    return found == newest_.end() ? Bits{} : found->second.bits;
  }

  // Calls visit(line, bits) for each line that has been written.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [number, written] : newest_) visit(Line{number}, written.bits);
  }

  void accepted(Line line, std::uint64_t order, Bits bits) {
    before_[order] = std::exchange(newest_[line.number], {order, bits});
  }
  // Drops an accepted write. A newer write of the line then follows the one before the dropped
  // write.
  void dropped(Line line, std::uint64_t order) {
    const auto found = before_.extract(order);
    if (found.empty()) return;
    Written& newest = newest_.at(line.number);
    if (newest.order == order) newest = found.mapped();
    for (auto& [_, older] : before_) {
      if (older.order == order) older = found.mapped();
    }
  }
  // Notes that a write has left its queue for the device: it can't be dropped any more.
  void written(std::uint64_t order) { before_.erase(order); }

 private:
  struct Written {
    std::uint64_t order = 0;  // 0: no write
    Bits bits{};
  };
  std::unordered_map<std::uint64_t, Written> newest_;  // newest write of each line
  // Former bits of a line, keyed by the order of a write that could be dropped.
  std::unordered_map<std::uint64_t, Written> before_;
};

}  // namespace pmemsim
