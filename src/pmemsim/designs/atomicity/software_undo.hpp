// The program's own undo log (library/): ordinary stores, flushes and fences that are in the
// recording, so there is nothing to add to it ("SW", ASAP section 6.3).
#pragma once

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/software_undo_parameters.hpp"

namespace pmemsim {

class SoftwareUndo final : public Atomicity {
 public:
  explicit SoftwareUndo(const SoftwareUndoDefects& defects) : defects_(defects) {}
  Lowering lowering() const override {
    constexpr auto kLog = static_cast<std::size_t>(trace::Purpose::kLog);
    constexpr auto kDataFlush = static_cast<std::size_t>(trace::Purpose::kDataFlush);
    constexpr auto kCommit = static_cast<std::size_t>(trace::Purpose::kCommit);
    Lowering lowering;
    lowering.keeps_flushes[kLog] = !defects_.log_flush;
    lowering.keeps_fences[kLog] = !defects_.log_fence;
    lowering.keeps_flushes[kDataFlush] = !defects_.data_flush;
    lowering.keeps_fences[kDataFlush] = !defects_.data_fence;
    lowering.keeps_flushes[kCommit] = !defects_.commit_flush;
    return lowering;
  }

  bool restores_lines() const override { return true; }

 private:
  const SoftwareUndoDefects defects_;
};

}  // namespace pmemsim
