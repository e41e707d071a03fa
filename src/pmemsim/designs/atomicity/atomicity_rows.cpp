#include "pmemsim/designs/atomicity/atomicity_rows.hpp"

#include "pmemsim/designs/atomicity/asap_row.hpp"
#include "pmemsim/designs/atomicity/hardware_log_row.hpp"
#include "pmemsim/designs/atomicity/hardware_recovery.hpp"
#include "pmemsim/designs/atomicity/hw_redo.hpp"
#include "pmemsim/designs/atomicity/hw_redo_recovery.hpp"
#include "pmemsim/designs/atomicity/hw_undo.hpp"
#include "pmemsim/designs/atomicity/hw_undo_recovery.hpp"
#include "pmemsim/designs/atomicity/lad.hpp"
#include "pmemsim/designs/atomicity/lad_recovery.hpp"
#include "pmemsim/designs/atomicity/no_atomicity.hpp"
#include "pmemsim/designs/atomicity/software_log_recovery.hpp"
#include "pmemsim/designs/atomicity/software_redo.hpp"
#include "pmemsim/designs/atomicity/software_undo.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {
namespace {

std::unique_ptr<Recovery> software_recovery(const Atomicity&, const trace::TraceFile& trace) {
  return std::make_unique<SoftwareLogRecovery>(trace.metadata().pm_regions);
}

Choice no_atomicity_row() {
  return {.name = "none",
          .summary = "None: a crash may leave a part of a region",
          .gives = {kRegionsAgain},
          .make = [](const Blueprint&) -> std::unique_ptr<Atomicity> {
            return std::make_unique<NoAtomicity>();
          }};
}

Choice software_undo_row() {
  return {.name = "software-undo",
          .summary = "The program's own undo log, as recorded",
          .by_default = true,
          .needs = {kOrderingFences},
          .gives = {kAtomicRegions, kRegionsAgain},
          .promises = {.whole_regions = true, .regions = RegionPromise::kAtEnd},
          .parameters = {ParameterGroup::of<SoftwareUndoParameters>("software_undo")},
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
            return std::make_unique<SoftwareUndo>(
                blueprint.parameters<SoftwareUndoParameters>().faults);
          },
          .recovery = software_recovery};
}

Choice software_redo_row() {
  return {.name = "software-redo",
          .summary = "The program's own redo log, as recorded (Mnemosyne)",
          .needs = {kOrderingFences},
          .gives = {kAtomicRegions, kRegionsAgain},
          .promises = {.whole_regions = true, .regions = RegionPromise::kAtEnd},
          .log = trace::ProgramLog::kRedo,
          .parameters = {ParameterGroup::of<SoftwareRedoParameters>("software_redo")},
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
            return std::make_unique<SoftwareRedo>(
                blueprint.parameters<SoftwareRedoParameters>().faults);
          },
          .recovery = software_recovery};
}

Choice hw_undo_row() {
  return {.name = "hw-undo",
          .summary =
              "Undo log written by hardware, data flushed by the program, synchronous commit "
              "(Proteus)",
          .needs = {kWritingFlushes},
          .gives = {kAtomicRegions},
          .promises = {.whole_regions = true, .regions = RegionPromise::kAtEnd},
          .parameters = {log_group()},
          .problems = undo_log_problems,
          .storage =
              [](const Blueprint& blueprint) {
                return HwUndo::storage(blueprint.parameters<HardwareLogParameters>(),
                                       blueprint.chip());
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
            return std::make_unique<HwUndo>(log_shape(blueprint, LogKind::kUndo),
                                            blueprint.parameters<HardwareLogParameters>());
          },
          .recovery =
              [](const Atomicity& design, const trace::TraceFile&) {
                return hardware_recovery<HwUndo>(design, recover_undo_log);
              }};
}

Choice hw_redo_row() {
  return {.name = "hw-redo",
          .summary =
              "Redo log written by hardware, data in place after a commit that waits for the log "
              "(ReDU)",
          .needs = {kWritingFlushes},
          .gives = {kAtomicRegions},
          .promises = {.whole_regions = true,
                       .commits_cover_flushes = true,
                       .regions = RegionPromise::kAtEnd},
          .parameters = {log_group(), ParameterGroup::of<HwRedoParameters>("hw_redo")},
          .problems = log_problems,
          .storage =
              [](const Blueprint& blueprint) {
                return HwRedo::storage(blueprint.parameters<HwRedoParameters>(),
                                       blueprint.parameters<HardwareLogParameters>(),
                                       blueprint.chip());
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
            return std::make_unique<HwRedo>(log_shape(blueprint, LogKind::kRedo),
                                            blueprint.parameters<HwRedoParameters>(),
                                            blueprint.parameters<HardwareLogParameters>());
          },
          .recovery = [](const Atomicity& design,
                         const trace::TraceFile&) -> std::unique_ptr<Recovery> {
            return std::make_unique<RedoRecovery>(dynamic_cast<const HwRedo&>(design));
          }};
}

Choice lad_row() {
  return {.name = "lad",
          .summary =
              "Lines stay in the controllers' queues until their region commits, and are logged on "
              "overflow (LAD)",
          .needs = {kWritingFlushes},
          .gives = {kAtomicRegions},
          .promises = {.whole_regions = true,
                       .commits_cover_flushes = true,
                       .regions = RegionPromise::kAtEnd},
          .parameters = {log_group()},
          .problems = lad_problems,
          .storage =
              [](const Blueprint& blueprint) {
                return Lad::storage(blueprint.parameters<HardwareLogParameters>(),
                                    blueprint.chip());
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
            return std::make_unique<Lad>(log_shape(blueprint, LogKind::kUndo, true),
                                         blueprint.pm.front_latency,
                                         blueprint.parameters<HardwareLogParameters>());
          },
          .recovery =
              [](const Atomicity& design, const trace::TraceFile&) {
                return hardware_recovery<Lad>(design, recover_lad);
              }};
}

}  // namespace

std::vector<Choice> atomicity_rows() {
  return {no_atomicity_row(), software_undo_row(), software_redo_row(),
          hw_undo_row(),      hw_redo_row(),       asap_row(),
          lad_row()};
}

}  // namespace pmemsim
