#include "pmemsim/designs/atomicity/asap_row.hpp"

#include "pmemsim/designs/atomicity/asap.hpp"
#include "pmemsim/designs/atomicity/asap_recovery.hpp"
#include "pmemsim/designs/atomicity/hardware_log_row.hpp"
#include "pmemsim/designs/atomicity/hardware_recovery.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {
namespace {

// Returns the log's shape, whose header queue is the LH-WPQ.
HardwareLog::Shape asap_shape(const Blueprint& blueprint) {
  HardwareLog::Shape shape = log_shape(blueprint, LogKind::kUndo);
  shape.header_entries = blueprint.parameters<AsapParameters>().lh_wpq_entries;
  return shape;
}

std::vector<std::string> asap_problems(const Blueprint& blueprint, const Choice& choice) {
  std::vector<std::string> problems = buffered_header_problems(blueprint, choice);
  const auto& asap = blueprint.parameters<AsapParameters>();
  // The LH-WPQ is not checked: the paper has 16 entries for 18 cores (7.4), and few programs stop
  // at fewer.
  add_if_too_small(problems, "asap.dependence_entries", asap.dependence_entries, blueprint);
  return problems;
}

}  // namespace

Choice asap_row() {
  return {.name = "asap",
          .summary = "Undo log and data written by hardware, regions commit asynchronously (ASAP)",
          .needs = {kWritingFlushes},
          .gives = {kAtomicRegions},
          .promises = {.whole_regions = true, .regions = RegionPromise::kWhenDeclared},
          .parameters = {log_group(), ParameterGroup::of<AsapParameters>("asap")},
          .problems = asap_problems,
          .storage =
              [](const Blueprint& blueprint) {
                return Asap::storage(blueprint.parameters<AsapParameters>(), blueprint.chip());
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
            return std::make_unique<Asap>(asap_shape(blueprint),
                                          blueprint.parameters<AsapParameters>(),
                                          blueprint.parameters<HardwareLogParameters>());
          },
          .recovery =
              [](const Atomicity& design, const trace::TraceFile&) {
                return hardware_recovery<Asap>(design, recover_asap);
              }};
}

}  // namespace pmemsim
