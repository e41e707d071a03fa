#include "pmemsim/designs/backend/backend_parts.hpp"

#include <algorithm>
#include <utility>

#include "pmemsim/designs/backend/line_entries.hpp"
#include "pmemsim/designs/backend/schedule.hpp"

namespace pmemsim {

BackendParts::BackendParts(Operations operations) : operations(std::move(operations)) {}
BackendParts::BackendParts(BackendParts&&) noexcept = default;
BackendParts& BackendParts::operator=(BackendParts&&) noexcept = default;
BackendParts::~BackendParts() = default;

// Behind the last of those that need them: what comes then neither moves nor changes them.
void BackendParts::add_entries(const MetadataCacheParameters& counter_cache, std::uint32_t cores,
                               bool defers) {
  const auto last = std::find_if(operations.rbegin(), operations.rend(), [](const auto& operation) {
    return operation->traits().needs_entries;
  });
  if (last == operations.rend()) return;
  entries = std::make_unique<LineEntries>(counter_cache, cores, defers);
  before_entries = static_cast<std::size_t>(last.base() - operations.begin());
  for (const auto& operation : operations) operation->share(*entries);
}

void BackendParts::add_shared(const BackendParameters& parameters,
                              const MetadataCacheParameters& counter_cache, std::uint32_t cores,
                              std::uint32_t unit_scale, bool entries_may_come_later) {
  add_entries(counter_cache, cores, entries_may_come_later);
  std::vector<BackendOperation*> all;
  std::vector<std::vector<SubOperation>> graph;
  for (const auto& operation : operations) {
    all.push_back(operation.get());
    graph.push_back(operation->sub_operations());
  }
  if (std::ranges::all_of(graph, &std::vector<SubOperation>::empty)) return;
  schedule = std::make_unique<OperationSchedule>(
      std::move(all), OperationGraph(graph, parameters.execution),
      parameters.units_per_core * cores * unit_scale, parameters);
}

}  // namespace pmemsim
