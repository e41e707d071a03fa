// The program's own undo log (library/). Its ordinary stores, flushes and fences are in the
// recording, so there is nothing to add ("SW", ASAP section 6.3).
#pragma once

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/software_undo_parameters.hpp"

namespace pmemsim {

class SoftwareUndo final : public Atomicity {
 public:
  explicit SoftwareUndo(const SoftwareUndoFaults& faults) : faults_(faults) {}
  Lowering lowering() const override {
    constexpr auto kLog = static_cast<std::size_t>(trace::Purpose::kLog);
    constexpr auto kDataFlush = static_cast<std::size_t>(trace::Purpose::kDataFlush);
    constexpr auto kCommit = static_cast<std::size_t>(trace::Purpose::kCommit);
    Lowering lowering;
    lowering.keeps_flushes[kLog] = !faults_.log_flush;
    lowering.keeps_fences[kLog] = !faults_.log_fence;
    lowering.keeps_flushes[kDataFlush] = !faults_.data_flush;
    lowering.keeps_fences[kDataFlush] = !faults_.data_fence;
    lowering.keeps_flushes[kCommit] = !faults_.commit_flush;
    return lowering;
  }

  bool restores_lines() const override { return true; }

 private:
  const SoftwareUndoFaults faults_;
};

}  // namespace pmemsim
