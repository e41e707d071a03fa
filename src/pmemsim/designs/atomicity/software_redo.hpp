// The program's own redo log (library/redo.c), like Mnemosyne's (Volos et al., ASPLOS 2011). The
// recording contains the log's ordinary stores, flushes and fences, so this layer adds nothing.
//
// A program with a redo log is recorded with that log: its data stores occur when a region ends,
// and inside the region the program loads values from the log. Its computation depends on these
// loads. Lowering therefore keeps all code of the log.
#pragma once

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/software_redo_parameters.hpp"

namespace pmemsim {

class SoftwareRedo final : public Atomicity {
 public:
  explicit SoftwareRedo(const SoftwareRedoFaults& faults) : faults_(faults) {}
  Lowering lowering() const override {
    constexpr auto kLog = static_cast<std::size_t>(trace::Purpose::kLog);
    constexpr auto kCommit = static_cast<std::size_t>(trace::Purpose::kCommit);
    constexpr auto kDataFlush = static_cast<std::size_t>(trace::Purpose::kDataFlush);
    constexpr auto kRelease = static_cast<std::size_t>(trace::Purpose::kRelease);
    Lowering lowering;
    lowering.keeps_flushes[kLog] = !faults_.log_flush;
    lowering.keeps_fences[kLog] = !faults_.log_fence;
    lowering.keeps_flushes[kCommit] = !faults_.commit_flush;
    lowering.keeps_fences[kCommit] = !faults_.commit_fence;
    lowering.keeps_flushes[kDataFlush] = !faults_.data_flush;
    lowering.keeps_fences[kDataFlush] = !faults_.data_fence;
    lowering.keeps_flushes[kRelease] = !faults_.release_flush;
    lowering.keeps_fences[kRelease] = !faults_.release_fence;
    return lowering;
  }

 private:
  const SoftwareRedoFaults faults_;
};

}  // namespace pmemsim
