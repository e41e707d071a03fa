#include "pmemsim/backend/common_operations.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "pmemsim/backend/line_entries.hpp"
#include "pmemsim/backend/schedule.hpp"

namespace pmemsim {

void add_common_operations(Backend::Operations& operations, const BackendParameters& parameters,
                           const MetadataCacheParameters& counter_cache, std::uint32_t cores,
                           std::uint32_t unit_scale) {
  std::vector<BackendOperation*> chosen;
  for (const auto& operation : operations) chosen.push_back(operation.get());
  if (std::ranges::any_of(chosen, &BackendOperation::needs_entries)) {
    auto entries = std::make_unique<LineEntries>(counter_cache, cores);
    for (BackendOperation* const operation : chosen) operation->share(*entries);
    operations.push_back(std::move(entries));
  }
  std::vector<std::vector<SubOperation>> graph;
  for (const BackendOperation* const operation : chosen) {
    graph.push_back(operation->sub_operations());
  }
  if (std::ranges::all_of(graph, &std::vector<SubOperation>::empty)) return;
  operations.push_back(
      std::make_unique<OperationSchedule>(chosen, OperationGraph(graph, parameters.execution),
                                          parameters.units_per_core * cores * unit_scale));
}

}  // namespace pmemsim
