// A set of an instant's open pieces, said in a few words instead of piece by piece; and those that
// bugs are likely to show in.
//
//   1  All that is visible is there, or nothing that isn't sure.
//   2  Each *unit* alone is missing, each alone is there. A unit is what a line has of ordinary
//      pieces, or one non-temporal piece.
//   3  Each line is cut between two of its pieces, and each of a copy's pieces that may be missing
//      alone is: while all the rest is there, and while none of it is.
//
// Of lines only the kMostUnits that were stored to last are tried, except at the end, and of a line
// the kMostCuts last cuts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/images/line_states.hpp"
#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

struct PieceSet {
  enum class How : std::uint8_t {
    kWhole,   // every line as `rest` says
    kPrefix,  // of `line`, the ordinary pieces before `piece`
    kHole,    // of `line`, the ordinary pieces without `piece`
    kWord,    // the non-temporal `piece` of `line`, against the rest
    kRandom,  // by `seed`
  };
  How how = How::kWhole;
  bool rest = false;  // is all else there, or nothing of it?
  Line line{};
  std::size_t piece = 0;
  std::uint64_t seed = 0;
};

inline constexpr std::size_t kMostUnits = 64;
inline constexpr std::size_t kMostCuts = 16;

// Which of the line's pieces are there.
Presence presence(const PieceSet& set, Line line, const PersistencyModel::Pieces& pieces);

struct LikelySet {
  PieceSet set;
  std::uint64_t code;  // the same for sets that are the same in the program's code
};
std::vector<LikelySet> likely_sets(const PersistencyModel& model);

}  // namespace pmemsim
