// A compact description of a down-closed set of groups, and the sets that are likely to expose
// bugs, to be tried first.
//
//   1  All groups are in the image, or none.
//   2  A group is in the image, and otherwise only groups that it follows.
//   3  A group is missing, with its followers, and all others are in the image.
//   4  The same for an early crash: right after the next group that may be in the image without it.
//   5  All groups up to one group are in the image, in an order in which all threads advance
//      evenly.
//
// Most of these come from the same source lines again and again, because of loops. For each sort
// and each place in the program's code, first 1 set is tried, then up to 4, up to 16, and so on.
// The tried sets are evenly spread.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/checks/images/promised_order.hpp"

namespace pmemsim {

struct PromisedSet {
  enum class How : std::uint8_t {
    kAll,
    kNothing,
    kAlone,
    kWithout,
    kEarlyWithout,
    kUntil,
    kRandom
  };
  How how = How::kNothing;
  PromisedOrder::Group group = 0;
  std::uint64_t seed = 0;  // Used by kRandom
};

// Returns, by group, whether it is in the image.
std::vector<bool> members(const PromisedSet& set, const PromisedOrder& order);

std::vector<PromisedSet> likely_promised_sets(const ProgramHistory& history,
                                              const PromisedOrder& order);

}  // namespace pmemsim
