#include "pmemsim/checks/images/line_states.hpp"

#include <cmath>

namespace pmemsim {
namespace {

using Segment = PersistencyModel::Segment;
using Segments = PersistencyModel::Segments;

// Indices of open segments: ranges without order inside, and the non-temporal segments.
struct Parts {
  std::vector<std::vector<std::size_t>> runs;
  std::vector<std::size_t> non_temporal;
};

Parts parts_of(const Segments& segments, std::uint64_t last_order) {
  Parts parts;
  const Segment* before = nullptr;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    if (segment.guaranteed || segment.order > last_order) continue;
    if (segment.non_temporal) {
      parts.non_temporal.push_back(i);
      continue;
    }
    if (before == nullptr || !unordered(*before, segment)) parts.runs.emplace_back();
    parts.runs.back().push_back(i);
    before = &segment;
  }
  return parts;
}

// Calls visit with each subset of these segments; other segments stay unchanged.
template <class Visit>
void for_each_subset(const std::vector<std::size_t>& segments, Presence& present,
                     const Visit& visit) {
  for (std::uint64_t subset = 0; subset < std::uint64_t{1} << segments.size(); ++subset) {
    for (std::size_t i = 0; i < segments.size(); ++i) present[segments[i]] = (subset >> i & 1) != 0;
    visit(subset);
  }
}

}  // namespace

double count_states(const Segments& segments, std::uint64_t last_order) {
  const Parts parts = parts_of(segments, last_order);
  double prefixes = 1;
  for (const auto& run : parts.runs) {
    prefixes += std::exp2(static_cast<double>(run.size())) - 1;
  }
  return prefixes * std::exp2(static_cast<double>(parts.non_temporal.size()));
}

void for_each_state(const Segments& segments, const std::function<void(const Presence&)>& visit) {
  const Parts parts = parts_of(segments, UINT64_MAX);
  Presence present(segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) present[i] = segments[i].guaranteed;
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
