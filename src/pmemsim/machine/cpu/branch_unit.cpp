#include "pmemsim/machine/cpu/branch_unit.hpp"

#include <utility>

namespace pmemsim {
using trace::SiteKind;

void BranchUnit::follow_call(const trace::Operation& operation) {
  if ((operation.site_flags & trace::kSiteEntry) != 0) returns_.call(previous_site_);
  if (operation.kind != SiteKind::kExecute || (operation.site_flags & trace::kSiteExit) == 0) {
    return;
  }
  ++statistics_.returns;
  mispredicted_return_ = !returns_.predicted_return();
}

bool BranchUnit::predicted_target(const trace::Operation& branch) {
  if (branch.kind == SiteKind::kIndirectBranch) {
    ++statistics_.indirect_branches;
    const auto target = static_cast<std::uint32_t>(branch.address);
    const bool right = targets_.predicted(branch.site, target, history_);
    statistics_.mispredicted_targets += !right;
    return right;
  }
  const bool wrong = std::exchange(mispredicted_return_, false);
  statistics_.mispredicted_returns += wrong;
  return !wrong;
}

}  // namespace pmemsim
