// A compact description of a down-closed set of groups. Also the sets that are likely to expose
// bugs, which are tried first.
//
//   1  All groups are in the image, or none.
//   2  One group is in the image, with all groups that it follows; no others are.
//   3  One group and all its followers are missing; all others are in the image.
//   4  The same as sort 3 for an early crash: right after the next group that may be in the image
//      without the missing group.
//   5  All groups up to one group are in the image, in an order in which all threads advance
//      evenly.
//
// Most of these come from the same source lines again and again, because of loops. For each of the
// sorts 1 to 5 and each location in the program's code, at first 1 set is tried, then up to 4, up
// to 16, and so on. The tried sets are evenly spread.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/checks/images/guaranteed_order.hpp"

namespace pmemsim {

struct GroupSet {
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
  GuaranteedOrder::Group group = 0;
  std::uint64_t seed = 0;  // Used by kRandom
};

// Returns, by group, whether it is in the image.
std::vector<bool> members(const GroupSet& set, const GuaranteedOrder& order);

std::vector<GroupSet> likely_group_sets(const ProgramHistory& history,
                                        const GuaranteedOrder& order);

}  // namespace pmemsim
