#include "my_design.hpp"

namespace my_design {

void MyDesign::stored(const RetiredStore& store, Time) {  // rules 1 and 2
  if (!context_->pm_space.contains(store.address)) return;
  const Line line = Line::of(store.address);
  if (last_[store.core] == line) return;
  last_[store.core] = line;
  const PreparedId id = context_->pm.predictions().prepare(
      {.core = store.core, .number = statistics_.predicted, .line = line});
  if (id) ++statistics_.predicted;
}

void MyDesign::outcome(const Outcome& outcome) {
  statistics_.used += outcome.fate == Fate::kUsed || outcome.fate == Fate::kUsedInPart;
}

Choice my_design_row() {
  return {.name = "my-design",
          .summary = "Operations on a line's address start with the first store to it",
          .needs = {kSubOperations},
          .parameters = {ParameterGroup::of<MyDesignParameters>("my_design")},
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Precompute> {
            return std::make_unique<MyDesign>(blueprint.cores,
                                              blueprint.parameters<MyDesignParameters>());
          }};
}

}  // namespace my_design

PMEMSIM_PLUGIN(my_design::my_design_row())
