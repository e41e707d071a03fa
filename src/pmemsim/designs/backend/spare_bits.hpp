// Bits that a line has beyond its 64 bytes, as a DIMM's ninth chip has them: they go with a write
// through its queue to the device, and are dropped with it. Here, they are those of the newest
// write of the line that has been accepted and not dropped.
//
// Whoever keeps some tells what becomes of each write (BackendOperation); writes are named by
// Encoded::order.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

template <class Bits>
class SpareBits {
 public:
  // As they are if the line hasn't been written: all zero.
  Bits of(Line line) const {
    const auto found = newest_.find(line.number);
    return found == newest_.end() ? Bits{} : found->second.bits;
  }

  // Calls visit(line, bits) for each that has been written.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [number, written] : newest_) visit(Line{number}, written.bits);
  }

  void accepted(Line line, std::uint64_t order, Bits bits) {
    before_[order] = std::exchange(newest_[line.number], {order, bits});
  }
  // That was accepted. A newer one of the line comes then after the one before.
  void dropped(Line line, std::uint64_t order) {
    const auto found = before_.extract(order);
    if (found.empty()) return;
    Written& newest = newest_.at(line.number);
    if (newest.order == order) newest = found.mapped();
    for (auto& [_, older] : before_) {
      if (older.order == order) older = found.mapped();
    }
  }
  // To the device: it can't be dropped any more.
  void written(std::uint64_t order) { before_.erase(order); }

 private:
  struct Written {
    std::uint64_t order = 0;  // 0: no write
    Bits bits{};
  };
  std::unordered_map<std::uint64_t, Written> newest_;  // by line
  std::unordered_map<std::uint64_t, Written> before_;  // by the write that could be dropped
};

}  // namespace pmemsim
