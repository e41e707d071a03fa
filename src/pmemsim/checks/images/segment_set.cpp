#include "pmemsim/checks/images/segment_set.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

using Segment = PersistencyModel::Segment;
using Segments = PersistencyModel::Segments;

bool is_ordinary(const Segment& segment) { return !segment.guaranteed && !segment.non_temporal; }

std::vector<std::size_t> ordinary(const Segments& segments) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (is_ordinary(segments[i])) found.push_back(i);
  }
  return found;
}

// ---- Random sets -------------------------------------------------------------------------------

// A random set of segments. Some images have most segments, some have few.
class RandomSet {
 public:
  RandomSet(std::uint64_t seed, Line line)
      : eighths_(kEighths[mix(seed) % kEighths.size()]), state_(mix(seed ^ mix(line.number))) {}

  Presence of(const Segments& segments) {
    Presence present(segments.size());
    const std::vector<std::size_t> order = ordinary(segments);
    const std::size_t cut = prefix(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      const bool beside = rank > cut && unordered(segments[order[cut]], segments[order[rank]]);
      present[order[rank]] = rank < cut || (beside && coin());
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].guaranteed || (segments[i].non_temporal && coin())) present[i] = true;
    }
    return present;
  }

 private:
  static constexpr std::array<std::uint64_t, 3> kEighths{1, 4, 7};

  std::uint64_t draw() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  bool coin() { return draw() % 8 < eighths_; }
  std::size_t prefix(std::size_t segments) {
    if (draw() % 4 == 0) return draw() % (segments + 1);
    return coin() ? segments : 0;
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
    for (const bool rest : {true, false}) add({.how = SegmentSet::How::kWhole, .rest = rest}, 0);
    const Lines lines = newest_lines();
    for (const auto& [line, segments] : lines) units({line}, *segments);
    for (const auto& [line, segments] : lines) cuts({line}, *segments);
    return std::move(sets_);
  }

 private:
  using Lines = std::vector<std::pair<std::uint64_t, const Segments*>>;

  Lines newest_lines() const {
    Lines lines;
    for (const auto& [line, segments] : model_.open()) lines.emplace_back(line, &segments);
    const std::size_t most = model_.at_end() ? lines.size() : std::min(lines.size(), kMostUnits);
    std::ranges::partial_sort(lines, lines.begin() + static_cast<std::ptrdiff_t>(most),
                              std::ranges::greater{},
                              [](const auto& line) { return line.second->back().order; });
    lines.resize(most);
    return lines;
  }

  void add(SegmentSet set, std::uint64_t what) {
    std::uint64_t code = mix(crash_ ^ (static_cast<std::uint64_t>(set.how) * 2 + set.rest));
    code = mix(code ^ what);
    sets_.push_back({set, code});
  }

  // Implements rule 2 (segment_set.hpp).
  void units(Line line, const Segments& segments) {
    const std::vector<std::size_t> order = ordinary(segments);
    if (!order.empty()) {
      const std::uint64_t what = segments[order.back()].site;
      add({.how = SegmentSet::How::kPrefix, .rest = true, .line = line, .segment = order.front()},
          what);
      add({.how = SegmentSet::How::kPrefix,
           .rest = false,
           .line = line,
           .segment = segments.size()},
          what);
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].guaranteed || !segments[i].non_temporal) continue;
      both({.how = SegmentSet::How::kWord, .line = line, .segment = i}, segments[i].site);
    }
  }

  // Implements rule 3 (segment_set.hpp).
  void cuts(Line line, const Segments& segments) {
    const std::vector<std::size_t> order = ordinary(segments);
    const std::size_t first = order.size() > kMostCuts ? order.size() - kMostCuts : 1;
    for (std::size_t rank = first; rank < order.size(); ++rank) {
      both({.how = SegmentSet::How::kPrefix, .line = line, .segment = order[rank]},
           mix(segments[order[rank]].site) + segments[order[rank - 1]].site);
    }
    for (std::size_t rank = order.size(); rank-- > 0;) {
      if (!unordered(segments[order[rank]], segments[order.back()])) break;
      both({.how = SegmentSet::How::kHole, .line = line, .segment = order[rank]},
           segments[order[rank]].site);
    }
  }

  void both(SegmentSet set, std::uint64_t what) {
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

Presence presence(const SegmentSet& set, Line line, const Segments& segments) {
  if (set.how == SegmentSet::How::kRandom) return RandomSet(set.seed, line).of(segments);
  Presence present(segments.size(), set.rest);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].guaranteed) {
      present[i] = true;
    } else if (line == set.line && set.how == SegmentSet::How::kWord) {
      if (i == set.segment) present[i] = !set.rest;
    } else if (line == set.line && set.how != SegmentSet::How::kWhole && is_ordinary(segments[i])) {
      present[i] = set.how == SegmentSet::How::kPrefix ? i < set.segment : i != set.segment;
    }
  }
  return present;
}

std::vector<LikelySet> likely_sets(const PersistencyModel& model) {
  return LikelySets(model).take();
}

}  // namespace pmemsim
