// A down-closed set of groups, said in a few words instead of group by group; and those that bugs
// are likely to show in, before any others.
//
//   1  All is there, or nothing.
//   2  A group is there, and nothing that it doesn't follow.
//   3  A group is missing, with what follows it, and all else is there.
//   4  The same when the crash comes early: right after the next group that may be there without
//      it.
//   5  All up to a group is there, in an order in which threads get on alike.
//
// Most of these come from the same source lines over and over: loops. So of each sort, and of
// groups that are the same in the program's code, first one, then up to four, up to sixteen, and so
// on, evenly spread.
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
  std::uint64_t seed = 0;  // kRandom
};

// Which groups are there, by number.
std::vector<bool> members(const PromisedSet& set, const PromisedOrder& order);

std::vector<PromisedSet> likely_promised_sets(const ProgramHistory& history,
                                              const PromisedOrder& order);

}  // namespace pmemsim
