// A compact description of a set of an instant's open segments, and the sets that are likely to
// expose bugs.
//
//   1  All visible segments are in the image, or only the guaranteed ones.
//   2  For each *unit*: all segments except this unit are in the image, and none except this unit
//      is. A unit is all ordinary segments of a line, or one non-temporal segment.
//   3  A line is cut between two of its segments, or one segment of a copy that may be missing
//      alone is missing. Each such case is tried with all ordinary segments of other lines and all
//      non-temporal segments in the image, and with none of these.
//
// Except at the end of the recording, only the kMostUnits lines that were stored to last are tried.
// Only the last kMostCuts cuts of a line are tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/images/line_states.hpp"
#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

struct SegmentSet {
  enum class How : std::uint8_t {
    kWhole,   // Every line as `rest` says
    kPrefix,  // Ordinary segments of `line` before `segment`
    kHole,    // Ordinary segments of `line` except `segment`
    kWord,    // Non-temporal `segment` of `line`, opposite to `rest`
    kRandom,  // By `seed`
  };
  How how = How::kWhole;
  bool rest = false;  // All other segments are in the image, or none
  Line line{};
  std::size_t segment = 0;
  std::uint64_t seed = 0;
};

inline constexpr std::size_t kMostUnits = 64;
inline constexpr std::size_t kMostCuts = 16;

// Returns the line's segments that are in the image.
Presence presence(const SegmentSet& set, Line line, const PersistencyModel::Segments& segments);

struct LikelySet {
  SegmentSet set;
  std::uint64_t code;  // Equal for sets of the same location in the program's code
};
std::vector<LikelySet> likely_sets(const PersistencyModel& model);

}  // namespace pmemsim
