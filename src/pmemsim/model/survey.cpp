#include "pmemsim/model/survey.hpp"

#include <cmath>

#include "pmemsim/model/line_states.hpp"
#include "pmemsim/model/piece_set.hpp"

namespace pmemsim {
namespace {

// Sets that no instant before had (all_images.hpp, rule 1).
double new_sets(const PersistencyModel& model) {
  double all = 1, old = 1;
  for (const auto& [line, pieces] : model.open()) {
    all *= count_states(pieces, UINT64_MAX);
    old *= count_states(pieces, model.last_order());
  }
  return std::isinf(all) ? all : all - old;
}

}  // namespace

Survey survey(const trace::TraceFile& trace, PersistencyRules rules, std::uint32_t without) {
  Survey found;
  PersistencyModel model(trace, rules, without);
  while (model.next()) {
    ++found.instants;
    found.possible += new_sets(model);
    for (const LikelySet& likely : likely_sets(model)) ++found.likely[likely.code];
  }
  return found;
}

}  // namespace pmemsim
