#include "pmemsim/designs/backend_problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/metadata_cache.hpp"
#include "pmemsim/designs/backend/operation.hpp"

namespace pmemsim {
namespace {

// Number of metadata lines of all operations, and the names of the operations that have some.
struct MostMetadata {
  std::uint32_t lines = 0;
  std::string names;
};

MostMetadata most_metadata(const Blueprint& blueprint) {
  MostMetadata most;
  bool entries = false;
  for (const Choice* const choice : blueprint.design.operations()) {
    const auto traits = std::get<Choice::MakeOperation>(choice->make)(blueprint)->traits();
    if (traits.most_metadata == 0 && !traits.needs_entries) continue;
    most.lines += traits.most_metadata;
    entries = entries || traits.needs_entries;
    if (!most.names.empty()) most.names += ',';
    most.names += choice->name;
  }
  most.lines += entries;  // the entry line that they share
  return most;
}

std::string order_problem(const Blueprint& blueprint) {
  std::vector<const Choice*> chosen;
  for (const Choice* const choice : blueprint.design.operations()) {
    if (choice->place > 0) chosen.push_back(choice);
  }
  std::vector<const Choice*> right = chosen;
  std::ranges::sort(right, {}, &Choice::place);
  if (chosen == right) return {};
  const auto names = [](const std::vector<const Choice*>& all) {
    std::vector<std::string_view> found;
    for (const Choice* const choice : all) found.push_back(choice->name);
    return fmt::format("{}", fmt::join(found, ","));
  };
  return fmt::format(
      "backend={} lists operations before the operations whose results they need; choose {}",
      names(chosen), names(right));
}

std::string units_problem(const Blueprint& blueprint) {
  const auto* const backend = blueprint.design.find_parameters<BackendParameters>();
  if (backend == nullptr || backend->outdated_results == OutdatedResults::kWhenWritten ||
      backend->units_per_core == 0) {
    return {};
  }
  return fmt::format(
      "backend.outdated_results=at-once and never require an unlimited number of units, and "
      "backend.units_per_core is {}; choose backend.units_per_core=0, or "
      "backend.outdated_results=when-written",
      backend->units_per_core);
}

std::string counter_cache_problem(const Blueprint& blueprint) {
  const auto* const cache = blueprint.design.find_parameters<MetadataCacheParameters>();
  return cache == nullptr ? "" : metadata_cache_problem("counter_cache", *cache, blueprint.cores);
}

}  // namespace

std::vector<std::string> backend_problems(const Blueprint& blueprint) {
  std::vector<std::string> problems;
  for (const auto& problem_of : {order_problem, units_problem, counter_cache_problem}) {
    if (const std::string problem = problem_of(blueprint); !problem.empty()) {
      problems.push_back(problem);
    }
  }
  const MostMetadata most = most_metadata(blueprint);
  if (most.lines == 0) return problems;
  const std::string must =
      "backend=" + most.names +
      " has metadata that must become persistent in one step with their data, ";
  if (blueprint.pm.queue_place == QueuePlace::kDevice) {
    problems.push_back(must +
                       "which with pm.queue_place=device reach their queues one after the other; "
                       "choose pm.queue_place=host");
  }
  if (blueprint.pm.persistence == PersistencePoint::kWritten) {
    problems.push_back(must +
                       "which with pm.persistence=written their banks finish one after the other; "
                       "choose pm.persistence=accepted");
  }
  if (blueprint.pm.log_queue_entries > 0) {
    problems.push_back(
        must + "which pm.log_queue_entries=" + std::to_string(blueprint.pm.log_queue_entries) +
        " doesn't allow for those of a log; choose pm.log_queue_entries=0");
  }
  if (blueprint.pm.wpq_entries <= most.lines) {
    problems.push_back(
        must + "which take up to " + std::to_string(most.lines + 1) +
        " entries of a channel, and pm.wpq_entries=" + std::to_string(blueprint.pm.wpq_entries) +
        " has too few; choose " + "pm.wpq_entries=" + std::to_string(most.lines + 1));
  }
  return problems;
}

}  // namespace pmemsim
