#include "pmemsim/checks/images/line_states.hpp"

#include <cmath>

namespace pmemsim {
namespace {

using Piece = PersistencyModel::Piece;
using Pieces = PersistencyModel::Pieces;

// Indices of open pieces: ranges without order inside, and the non-temporal pieces.
struct Parts {
  std::vector<std::vector<std::size_t>> runs;
  std::vector<std::size_t> non_temporal;
};

Parts parts_of(const Pieces& pieces, std::uint64_t last_order) {
  Parts parts;
  const Piece* before = nullptr;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.guaranteed || piece.order > last_order) continue;
    if (piece.non_temporal) {
      parts.non_temporal.push_back(i);
      continue;
    }
    if (before == nullptr || !unordered(*before, piece)) parts.runs.emplace_back();
    parts.runs.back().push_back(i);
    before = &piece;
  }
  return parts;
}

// Calls visit with each subset of these pieces; other pieces stay unchanged.
template <class Visit>
void for_each_subset(const std::vector<std::size_t>& pieces, Presence& present,
                     const Visit& visit) {
  for (std::uint64_t subset = 0; subset < std::uint64_t{1} << pieces.size(); ++subset) {
    for (std::size_t i = 0; i < pieces.size(); ++i) present[pieces[i]] = (subset >> i & 1) != 0;
    visit(subset);
  }
}

}  // namespace

double count_states(const Pieces& pieces, std::uint64_t last_order) {
  const Parts parts = parts_of(pieces, last_order);
  double prefixes = 1;
  for (const auto& run : parts.runs) {
    prefixes += std::exp2(static_cast<double>(run.size())) - 1;
  }
  return prefixes * std::exp2(static_cast<double>(parts.non_temporal.size()));
}

void for_each_state(const Pieces& pieces, const std::function<void(const Presence&)>& visit) {
  const Parts parts = parts_of(pieces, UINT64_MAX);
  Presence present(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) present[i] = pieces[i].guaranteed;
  const auto with_non_temporal = [&] {
    for_each_subset(parts.non_temporal, present, [&](std::uint64_t) { visit(present); });
  };
  with_non_temporal();
  for (const auto& run : parts.runs) {
    for_each_subset(run, present, [&](std::uint64_t subset) {
      if (subset != 0) with_non_temporal();
    });
  }
}

}  // namespace pmemsim
