#include "pmemsim/designs/precompute/precompute_rows.hpp"

#include <fmt/format.h>

#include "pmemsim/designs/interface/design_configuration.hpp"
#include "pmemsim/designs/precompute/janus.hpp"
#include "pmemsim/designs/precompute/pmweaver.hpp"

namespace pmemsim {
namespace {

std::vector<std::string> pmweaver_problems(const Blueprint& blueprint, const Choice&) {
  const auto& parameters = blueprint.parameters<PmWeaverParameters>();
  std::vector<std::string> problems;
  const auto check = [&](std::string_view name, std::uint32_t entries, std::uint32_t ways) {
    if (entries % ways == 0) return;
    problems.push_back(
        fmt::format("pmweaver.{0}_entries={1} must be a multiple of pmweaver.{0}_ways={2}", name,
                    entries, ways));
  };
  check("history", parameters.history_entries, parameters.history_ways);
  check("table", parameters.table_entries, parameters.table_ways);
  if (parameters.as_artifact() && (parameters.next_pointers || parameters.value_deltas)) {
    problems.push_back(
        "pmweaver.variant=artifact does not support pmweaver.next_pointers and "
        "pmweaver.value_deltas; choose pmweaver.variant=paper, or leave both false");
  }
  if (parameters.as_artifact() &&
      blueprint.parameters<BackendParameters>().outdated_results == OutdatedResults::kWhenWritten) {
    problems.push_back(
        "pmweaver.variant=artifact needs backend.outdated_results=at-once, or never; choose one of "
        "these, or pmweaver.variant=paper");
  }
  return problems;
}

void pmweaver_energy(const Blueprint&, const EnergyBill& bill, Energy& energy) {
  const EnergyParameters& each = bill.prices();
  energy.predictor_power += bill.over_core_time(each.predictor);
  energy.predictor += bill.counted("core.stores", each.predictor_store) +
                      bill.counted("pmweaver.write_backs", each.predictor_flush) +
                      bill.counted("pmweaver.by_stores", each.prediction) +
                      bill.counted("pmweaver.by_timeout", each.prediction) +
                      bill.counted("backend.writes", each.validation);
}

Choice no_precompute_row() {
  return {.name = kNoChoice,
          .summary = "No operation starts before its write arrives",
          .by_default = true,
          .make = [](const Blueprint&) -> std::unique_ptr<Precompute> {
            return std::make_unique<NoPrecompute>();
          }};
}

Choice janus_row() {
  return {
      .name = "janus",
      .summary = "Operations start when the program's pre-execution calls announce writes (Janus)",
      .needs = {kSubOperations},
      .parameters = {ParameterGroup::of<JanusParameters>("janus")},
      .storage =
          [](const Blueprint& blueprint) {
            return Janus::storage(blueprint.parameters<JanusParameters>(), blueprint.chip());
          },
      .make = [](const Blueprint& blueprint) -> std::unique_ptr<Precompute> {
        return std::make_unique<Janus>(blueprint.parameters<JanusParameters>(), blueprint.cores);
      }};
}

Choice pmweaver_row() {
  return {
      .name = "pmweaver",
      .summary = "Operations start when earlier stores predict writes (PMWeaver)",
      .needs = {kSubOperations},
      .parameters = {ParameterGroup::of<PmWeaverParameters>("pmweaver")},
      .problems = pmweaver_problems,
      .storage =
          [](const Blueprint& blueprint) {
            return PmWeaver::storage(blueprint.parameters<PmWeaverParameters>(), blueprint.chip());
          },
      .energy = pmweaver_energy,
      .make = [](const Blueprint& blueprint) -> std::unique_ptr<Precompute> {
        const OutdatedResults outdated = blueprint.parameters<BackendParameters>().outdated_results;
        return std::make_unique<PmWeaver>(blueprint.parameters<PmWeaverParameters>(),
                                          blueprint.cores, outdated != OutdatedResults::kNever);
      }};
}

}  // namespace

std::vector<Choice> precompute_rows() { return {no_precompute_row(), janus_row(), pmweaver_row()}; }

}  // namespace pmemsim
