#include "pmemsim/checks/images/design_guarantees.hpp"

#include <fmt/format.h>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/machine.hpp"

namespace pmemsim {

DesignGuarantees guarantees_of(const Configuration& configuration, const trace::TraceFile& trace) {
  const DesignConfiguration& chosen = configuration.design;
  if (!chosen.promises().any()) {
    throw ConfigError({fmt::format(
        "ordering={} with atomicity={} has no durability guarantees, so any image is allowed; "
        "choose another design, for example sw-undo",
        chosen.ordering().name, chosen.atomicity().name)});
  }
  if (const std::string problem = fit_problem(configuration, trace); !problem.empty()) {
    throw ConfigError({problem});
  }
  EventQueue queue;
  Memory pm(queue, configuration.pm, Contents::kNotKept, PageFrames(configuration.pages.placement));
  const Design design(configuration.blueprint(), queue, pm);
  Promises promises = design.promises();
  // Persist buffers and paths may persist a region after its end. But before the region does,
  // nothing later persists, and no other thread sees anything later. The effect is the same as if
  // the end waited.
  promises.regions = chosen.atomicity().promises.regions;
  return {design.lowering(),
          {.promises = promises,
           .lines_whole = true,
           .lines_readable = !design.may_leave_unreadable(),
           .after_guarantees = true}};
}

}  // namespace pmemsim
