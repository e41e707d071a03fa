#include "pmemsim/designs/backend_problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <variant>

#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/precompute/pmweaver_parameters.hpp"

namespace pmemsim {
namespace {

// Of all operations, and the names of those that have some.
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
  most.lines += entries;  // that they have in common
  return most;
}

// Each works on what those before it have made of a line. Others may stand anywhere.
constexpr std::array<std::string_view, 6> kOrder{
    "compression", "deduplication", "encryption", "integrity", "error-correction", "wear-leveling"};

std::string order_problem(const Blueprint& blueprint) {
  std::vector<std::string_view> chosen;
  for (const Choice* const choice : blueprint.design.operations()) {
    if (std::ranges::count(kOrder, choice->name) > 0) chosen.push_back(choice->name);
  }
  std::vector<std::string_view> right = chosen;
  std::ranges::sort(right, {},
                    [](std::string_view name) { return std::ranges::find(kOrder, name); });
  if (chosen == right) return {};
  return fmt::format(
      "backend={} has operations before others whose results they work on; choose {}",
      fmt::join(chosen, ","), fmt::join(right, ","));
}

std::string units_problem(const Blueprint& blueprint) {
  const auto* const backend = blueprint.design.find_parameters<BackendParameters>();
  if (backend == nullptr || backend->outdated_results == OutdatedResults::kWhenWritten ||
      backend->units_per_core == 0) {
    return {};
  }
  return fmt::format(
      "backend.outdated_results=at-once and never are worked out for as many units as are wanted, "
      "and backend.units_per_core is {}; choose backend.units_per_core=0, or "
      "backend.outdated_results=when-written",
      backend->units_per_core);
}

std::string predictors_problem(const Blueprint& blueprint) {
  const auto* const pmweaver = blueprint.design.find_parameters<PmWeaverParameters>();
  if (pmweaver == nullptr || !pmweaver->as_artifact()) return {};
  if (!pmweaver->next_pointers && !pmweaver->value_deltas) return {};
  return "pmweaver.variant=artifact has a table of its own, in which pmweaver.next_pointers and "
         "value_deltas have no place; choose pmweaver.variant=paper, or leave both false";
}

}  // namespace

std::vector<std::string> backend_problems(const Blueprint& blueprint) {
  std::vector<std::string> problems;
  for (const auto& problem_of : {order_problem, units_problem, predictors_problem}) {
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
