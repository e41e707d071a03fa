// The branch prediction of a core: directions, targets and returns, and what they count.
//
// A recording has no instructions of calls and returns. The sites at which functions begin and end
// tell them: the last operation before a function's first one is the call.
#pragma once

#include <cstdint>

#include "pmemsim/machine/cpu/branch_predictor.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/core_statistics.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim {

class BranchUnit {
 public:
  BranchUnit(const CoreParameters& parameters, CoreStatistics& statistics)
      : statistics_(statistics),
        directions_(parameters.predictor_index_bits),
        targets_(parameters.target_index_bits),
        returns_(parameters.return_stack_entries) {}

  // Follows calls and returns, at each operation of the thread.
  void follow(const trace::Operation& operation) {
    if ((operation.site_flags & (trace::kSiteEntry | trace::kSiteExit)) != 0) {
      follow_call(operation);
    }
    previous_site_ = operation.site;
  }
  // True if the operation that has been followed is a mispredicted return.
  bool mispredicts_return() const { return mispredicted_return_; }
  // Trains with the branch, or with the return that has been followed. True if it had been
  // predicted.
  bool predicted(const trace::Operation& branch) {
    if (branch.kind != trace::SiteKind::kBranch) return predicted_target(branch);
    ++statistics_.branches;
    if (directions_.predicted(branch.site, branch.flag, history_)) return true;
    ++statistics_.mispredicted_branches;
    return false;
  }

  // The same for operations of straight-line code, if they are predicted. Otherwise these functions
  // return false and have no effect.
  bool passes_branch(std::uint32_t site, bool taken) {
    if (!directions_.trained_if_predicted(site, taken, history_)) return false;
    ++statistics_.branches;
    return true;
  }
  bool passes_return() {
    if (!returns_.predicts_return()) return false;
    ++statistics_.returns;
    returns_.predicted_return();
    return true;
  }
  void call(std::uint32_t site) { returns_.call(site); }
  std::uint32_t previous_site() const { return previous_site_; }
  void set_previous_site(std::uint32_t site) { previous_site_ = site; }

  // The number of calls that have not returned, to which a rolled back thread returns. Predictors
  // are unchanged.
  std::uint64_t calls() const { return returns_.depth(); }
  void roll_back(std::uint64_t calls) { returns_.set_depth(calls); }
  void discard_return() { mispredicted_return_ = false; }

 private:
  void follow_call(const trace::Operation& operation);
  // Does the same for an indirect branch or a return.
  bool predicted_target(const trace::Operation& branch);

  CoreStatistics& statistics_;
  BranchHistory history_;
  DirectionPredictor directions_;
  TargetPredictor targets_;
  ReturnStack returns_;
  std::uint32_t previous_site_ = 0;  // the call's, at the first operation of a function
  bool mispredicted_return_ = false;
};

}  // namespace pmemsim
