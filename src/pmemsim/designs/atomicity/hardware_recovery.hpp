// The recovery of a hardware log, whose procedure uses the design's surviving structures.
#pragma once

#include <memory>

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/log_index.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"

namespace pmemsim {

template <class Design>
class HardwareRecovery final : public Recovery {
 public:
  using Procedure = void(const typename Design::Survivors&, RecoveryView);
  HardwareRecovery(const Design& design, Procedure& procedure)
      : design_(design), procedure_(procedure) {}
  void changed(Line line, const LineData& data) override { index_.changed(line, data); }
  void run(RecoveryView pm) override {
    pm.use(index_);
    procedure_(design_.survivors(), pm);
  }

 private:
  LogIndex index_;
  const Design& design_;
  Procedure& procedure_;
};

// Returns the recovery of a design's row. `design` is a `Design`, since the same row has made it.
template <class Design>
std::unique_ptr<Recovery> hardware_recovery(
    const Atomicity& design, typename HardwareRecovery<Design>::Procedure& procedure) {
  return std::make_unique<HardwareRecovery<Design>>(dynamic_cast<const Design&>(design), procedure);
}

}  // namespace pmemsim
