#include "pmemsim/designs/backend/common_operations.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "pmemsim/designs/backend/line_entries.hpp"
#include "pmemsim/designs/backend/schedule.hpp"

namespace pmemsim {
namespace {

// Behind the last of those that need them: what comes then neither moves nor changes them.
void add_entries(Backend::Operations& operations, const MetadataCacheParameters& cache,
                 std::uint32_t cores, bool defers) {
  const auto last = std::find_if(operations.rbegin(), operations.rend(),
                                 [](const auto& operation) { return operation->needs_entries(); });
  if (last == operations.rend()) return;
  auto entries = std::make_unique<LineEntries>(cache, cores, defers);
  for (const auto& operation : operations) operation->share(*entries);
  operations.insert(last.base(), std::move(entries));
}

}  // namespace

void add_common_operations(Backend::Operations& operations, const BackendParameters& parameters,
                           const MetadataCacheParameters& counter_cache, std::uint32_t cores,
                           std::uint32_t unit_scale, bool entries_may_come_later) {
  std::vector<BackendOperation*> chosen;
  for (const auto& operation : operations) chosen.push_back(operation.get());
  add_entries(operations, counter_cache, cores, entries_may_come_later);
  std::vector<std::vector<SubOperation>> graph;
  for (const BackendOperation* const operation : chosen) {
    graph.push_back(operation->sub_operations());
  }
  if (std::ranges::all_of(graph, &std::vector<SubOperation>::empty)) return;
  operations.push_back(std::make_unique<OperationSchedule>(
      chosen, OperationGraph(graph, parameters.execution),
      parameters.units_per_core * cores * unit_scale, parameters));
}

}  // namespace pmemsim
