#include "pmemsim/crash/recoveries.hpp"

#include "pmemsim/atomicity/asap.hpp"
#include "pmemsim/atomicity/hw_redo.hpp"
#include "pmemsim/atomicity/hw_undo.hpp"
#include "pmemsim/atomicity/lad.hpp"
#include "pmemsim/crash/redo_recovery.hpp"
#include "pmemsim/recovery/asap.hpp"
#include "pmemsim/recovery/lad.hpp"
#include "pmemsim/recovery/log_index.hpp"
#include "pmemsim/recovery/software_undo.hpp"
#include "pmemsim/recovery/undo_log.hpp"

namespace pmemsim {
namespace {

class NoRecovery final : public Recovery {
 public:
  void run(RecoveryView) override {}
};

class SoftwareRecovery final : public Recovery {
 public:
  explicit SoftwareRecovery(const trace::TraceFile& trace) : undo_(trace.metadata().pm_regions) {}
  void changed(Line line, const LineData& data) override { undo_.changed(line, data); }
  void run(RecoveryView pm) override { undo_.recover(pm); }

 private:
  SoftwareUndoRecovery undo_;
};

template <class Design>
class HardwareRecovery final : public Recovery {
 public:
  using Procedure = void(const typename Design::Survivors&, RecoveryView);
  HardwareRecovery(const Machine& machine, Procedure& procedure)
      : design_(dynamic_cast<const Design&>(machine.atomicity())), procedure_(procedure) {}
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

}  // namespace

std::unique_ptr<Recovery> make_recovery(const Configuration& configuration, const Machine& machine,
                                        const trace::TraceFile& trace) {
  switch (configuration.atomicity) {
    case AtomicityChoice::kNone:
      return std::make_unique<NoRecovery>();
    case AtomicityChoice::kSoftwareUndo:
      return std::make_unique<SoftwareRecovery>(trace);
    case AtomicityChoice::kHwUndo:
      return std::make_unique<HardwareRecovery<HwUndo>>(machine, recover_undo_log);
    case AtomicityChoice::kHwRedo:
      return std::make_unique<RedoRecovery>(dynamic_cast<const HwRedo&>(machine.atomicity()));
    case AtomicityChoice::kAsap:
      return std::make_unique<HardwareRecovery<Asap>>(machine, recover_asap);
    case AtomicityChoice::kLad:
      return std::make_unique<HardwareRecovery<Lad>>(machine, recover_lad);
  }
  return nullptr;
}

}  // namespace pmemsim
