#include "pmemsim/designs/ordering/pmem_spec_row.hpp"

#include "pmemsim/designs/interface/design_configuration.hpp"
#include "pmemsim/designs/ordering/pmem_spec.hpp"

namespace pmemsim {
namespace {

PmemSpecOrdering::Surroundings pmem_spec_surroundings(const Blueprint& blueprint) {
  const MemoryParameters& pm = blueprint.pm;
  const bool far = pm.queue_place == QueuePlace::kDevice;
  return {.cores = blueprint.cores,
          .controllers = pm.channels(),
          .acknowledgement = pm.front_latency + (far ? pm.link_latency : Picoseconds{0}),
          .regions = blueprint.design.atomicity().promises.whole_regions,
          .before_commit = blueprint.design.atomicity().log == trace::ProgramLog::kRedo
                               ? trace::Purpose::kLog
                               : trace::Purpose::kDataFlush};
}

std::vector<std::string> pmem_spec_problems(const Blueprint& blueprint, const Choice&) {
  const bool published =
      blueprint.parameters<PmemSpecParameters>().controllers == SpecControllers::kPublished;
  const std::uint32_t controllers = blueprint.pm.channels();
  if (!published || controllers == 1) return {};
  return {
      "pmem_spec.controllers=published does not order stores to different controllers (PMEM-Spec, "
      "7), and this machine's PM has " +
      std::to_string(controllers) +
      " channels with queues of their own; choose pmem_spec.controllers=ordered or a machine with "
      "one"};
}

std::vector<std::string> pmem_spec_notes(const Blueprint& blueprint, const Choice&) {
  const std::uint32_t controllers = blueprint.pm.channels();
  if (controllers == 1) return {};
  return {"PMEM-Spec is for one PM controller (section 7); the " + std::to_string(controllers) +
          " channels with queues of their own of this machine run an extension that keeps a core's "
          "stores in order (docs/explanation/ordering.md)"};
}

}  // namespace

Choice pmem_spec_row() {
  return {.name = "pmem-spec",
          .summary =
              "Stores bypass the caches on their way to PM, and speculation keeps their order "
              "(PMEM-Spec)",
          .needs = {kRegionsAgain},
          .gives = {kOrderingFences, kDurableFences},
          .promises = {.stores_in_order = true,
                       .reads_in_order = true,
                       .fences = FencePromise::kStores,
                       .regions = RegionPromise::kWhenDeclared},
          .parameters = {ParameterGroup::of<PmemSpecParameters>("pmem_spec")},
          .problems = pmem_spec_problems,
          .notes = pmem_spec_notes,
          .storage =
              [](const Blueprint& blueprint) {
                return PmemSpecOrdering::storage(blueprint.parameters<PmemSpecParameters>(),
                                                 blueprint.chip());
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
            return std::make_unique<PmemSpecOrdering>(pmem_spec_surroundings(blueprint),
                                                      blueprint.parameters<PmemSpecParameters>());
          }};
}

}  // namespace pmemsim
