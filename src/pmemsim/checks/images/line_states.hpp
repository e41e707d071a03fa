// The sets of a line's open segments that may be in an image together (persistency_model.hpp, rules
// 1, 2, 5 and 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

// Returns the number of such sets of the segments up to `last_order`, as a floating-point number
// since it may be large.
double count_states(const PersistencyModel::Segments& segments, std::uint64_t last_order);

// By index: true if the segment is in the image. Guaranteed segments always are.
using Presence = std::vector<bool>;
// Calls visit for each such set, the empty one first. Use it only for lines with few sets.
void for_each_state(const PersistencyModel::Segments& segments,
                    const std::function<void(const Presence&)>& visit);

// True if both segments are of the same copy, so that an image may contain either without the
// other.
inline bool unordered(const PersistencyModel::Segment& a, const PersistencyModel::Segment& b) {
  return a.copy != 0 && a.copy == b.copy;
}

}  // namespace pmemsim
