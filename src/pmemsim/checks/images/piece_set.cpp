#include "pmemsim/checks/images/piece_set.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

using Piece = PersistencyModel::Piece;
using Pieces = PersistencyModel::Pieces;

bool is_ordinary(const Piece& piece) { return !piece.guaranteed && !piece.non_temporal; }

std::vector<std::size_t> ordinary(const Pieces& pieces) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (is_ordinary(pieces[i])) found.push_back(i);
  }
  return found;
}

// ---- Random sets -------------------------------------------------------------------------------

// A random set of pieces. Some images have most pieces, some have few.
class RandomSet {
 public:
  RandomSet(std::uint64_t seed, Line line)
      : eighths_(kEighths[mix(seed) % kEighths.size()]), state_(mix(seed ^ mix(line.number))) {}

  Presence of(const Pieces& pieces) {
    Presence present(pieces.size());
    const std::vector<std::size_t> order = ordinary(pieces);
    const std::size_t cut = prefix(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      const bool beside = rank > cut && unordered(pieces[order[cut]], pieces[order[rank]]);
      present[order[rank]] = rank < cut || (beside && coin());
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].guaranteed || (pieces[i].non_temporal && coin())) present[i] = true;
    }
    return present;
  }

 private:
  static constexpr std::array<std::uint64_t, 3> kEighths{1, 4, 7};

  std::uint64_t draw() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  bool coin() { return draw() % 8 < eighths_; }
  std::size_t prefix(std::size_t pieces) {
    if (draw() % 4 == 0) return draw() % (pieces + 1);
    return coin() ? pieces : 0;
  }

  const std::uint64_t eighths_;
  std::uint64_t state_;
};

// ---- Likely sets --------------------------------------------------------------------------------

class LikelySets {
 public:
  explicit LikelySets(const PersistencyModel& model) : model_(model) {
    const std::uint32_t next =
        model.at_end() ? PersistencyModel::kNone : model.next_operation().operation().site;
    crash_ = mix(next);
  }

  std::vector<LikelySet> take() {
    for (const bool rest : {true, false}) add({.how = PieceSet::How::kWhole, .rest = rest}, 0);
    const Lines lines = newest_lines();
    for (const auto& [line, pieces] : lines) units({line}, *pieces);
    for (const auto& [line, pieces] : lines) cuts({line}, *pieces);
    return std::move(sets_);
  }

 private:
  using Lines = std::vector<std::pair<std::uint64_t, const Pieces*>>;

  Lines newest_lines() const {
    Lines lines;
    for (const auto& [line, pieces] : model_.open()) lines.emplace_back(line, &pieces);
    const std::size_t most = model_.at_end() ? lines.size() : std::min(lines.size(), kMostUnits);
    std::ranges::partial_sort(lines, lines.begin() + static_cast<std::ptrdiff_t>(most),
                              std::ranges::greater{},
                              [](const auto& line) { return line.second->back().order; });
    lines.resize(most);
    return lines;
  }

  void add(PieceSet set, std::uint64_t what) {
    std::uint64_t code = mix(crash_ ^ (static_cast<std::uint64_t>(set.how) * 2 + set.rest));
    code = mix(code ^ what);
    sets_.push_back({set, code});
  }

  // Rule 2.
  void units(Line line, const Pieces& pieces) {
    const std::vector<std::size_t> order = ordinary(pieces);
    if (!order.empty()) {
      const std::uint64_t what = pieces[order.back()].site;
      add({.how = PieceSet::How::kPrefix, .rest = true, .line = line, .piece = order.front()},
          what);
      add({.how = PieceSet::How::kPrefix, .rest = false, .line = line, .piece = pieces.size()},
          what);
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].guaranteed || !pieces[i].non_temporal) continue;
      both({.how = PieceSet::How::kWord, .line = line, .piece = i}, pieces[i].site);
    }
  }

  // Rule 3.
  void cuts(Line line, const Pieces& pieces) {
    const std::vector<std::size_t> order = ordinary(pieces);
    const std::size_t first = order.size() > kMostCuts ? order.size() - kMostCuts : 1;
    for (std::size_t rank = first; rank < order.size(); ++rank) {
      both({.how = PieceSet::How::kPrefix, .line = line, .piece = order[rank]},
           mix(pieces[order[rank]].site) + pieces[order[rank - 1]].site);
    }
    for (std::size_t rank = order.size(); rank-- > 0;) {
      if (!unordered(pieces[order[rank]], pieces[order.back()])) break;
      both({.how = PieceSet::How::kHole, .line = line, .piece = order[rank]},
           pieces[order[rank]].site);
    }
  }

  void both(PieceSet set, std::uint64_t what) {
    for (const bool rest : {true, false}) {
      set.rest = rest;
      add(set, what);
    }
  }

  const PersistencyModel& model_;
  std::uint64_t crash_;  // Hash of the crash's site
  std::vector<LikelySet> sets_;
};

}  // namespace

Presence presence(const PieceSet& set, Line line, const Pieces& pieces) {
  if (set.how == PieceSet::How::kRandom) return RandomSet(set.seed, line).of(pieces);
  Presence present(pieces.size(), set.rest);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].guaranteed) {
      present[i] = true;
    } else if (line == set.line && set.how == PieceSet::How::kWord) {
      if (i == set.piece) present[i] = !set.rest;
    } else if (line == set.line && set.how != PieceSet::How::kWhole && is_ordinary(pieces[i])) {
      present[i] = set.how == PieceSet::How::kPrefix ? i < set.piece : i != set.piece;
    }
  }
  return present;
}

std::vector<LikelySet> likely_sets(const PersistencyModel& model) {
  return LikelySets(model).take();
}

}  // namespace pmemsim
