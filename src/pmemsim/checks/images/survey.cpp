#include "pmemsim/checks/images/survey.hpp"

#include <cmath>

#include "pmemsim/checks/images/line_states.hpp"
#include "pmemsim/checks/images/segment_set.hpp"
#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

// Returns the number of sets that no previous instant had (all_images.hpp, rule 1).
double new_sets(const PersistencyModel& model) {
  double all = 1, old = 1;
  for (const auto& [line, segments] : model.open()) {
    all *= count_states(segments, UINT64_MAX);
    old *= count_states(segments, model.last_order());
  }
  return std::isinf(all) ? all : all - old;
}

std::uint64_t digest_of(const PersistencyModel& model) {
  std::uint64_t digest = mix(model.open().size());
  for (const auto& [line, segments] : model.open()) {
    digest = mix(digest + line);
    for (const PersistencyModel::Segment& segment : segments) {
      digest = mix(digest + segment.order);
      digest = mix(digest + segment.value);
      digest = mix(digest + (segment.offset | segment.size << 8 | segment.guaranteed << 16));
    }
  }
  return digest;
}

}  // namespace

Survey survey(const trace::TraceFile& trace, PersistencyRules rules, const Variation& variation) {
  Survey found;
  PersistencyModel model(trace, rules, variation);
  while (model.next()) {
    ++found.instants;
    found.possible += new_sets(model);
    found.digest = mix(found.digest + digest_of(model));
    for (const LikelySet& likely : likely_sets(model)) ++found.likely[likely.code];
  }
  return found;
}

bool have_same_digest(const Surveyed& one, const Surveyed& other, PersistencyRules rules) {
  PersistencyModel first(one.trace, rules, one.variation);
  PersistencyModel second(other.trace, rules, other.variation);
  for (;;) {
    const bool more = first.next();
    if (second.next() != more) return false;
    if (!more) return true;
    if (digest_of(first) != digest_of(second)) return false;
  }
}

bool may_exceed(const Surveyed& recording, PersistencyRules rules, double images) {
  PersistencyModel model(recording.trace, rules, recording.variation);
  double possible = 1;
  while (possible <= images && model.next()) possible += new_sets(model);
  return possible > images;
}

}  // namespace pmemsim
