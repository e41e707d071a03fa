// Recovery of the software logs, undo and redo: pmemsim/pm.h's own recovery code
// (library/recovery.c), run on the image of a crash.
#pragma once

#include <memory>
#include <vector>

#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

class SoftwareLogRecovery final : public Recovery {
 public:
  // `regions`: the recording's regions of PM. Those that aren't pools have nothing to recover.
  explicit SoftwareLogRecovery(const std::vector<trace::PmRegion>& regions);
  ~SoftwareLogRecovery() override;
  SoftwareLogRecovery(const SoftwareLogRecovery&) = delete;
  SoftwareLogRecovery& operator=(const SoftwareLogRecovery&) = delete;

  // Copies a changed line of the image to the memory on which the library works.
  void changed(Line line, const LineData& data) override;
  // Throws RecoveryError.
  void run(RecoveryView pm) override;

 private:
  class Pool;
  std::vector<std::unique_ptr<Pool>> pools_;
};

}  // namespace pmemsim
