#include "pmemsim/designs/ordering/ordering_rows.hpp"

#include "pmemsim/designs/interface/design_configuration.hpp"
#include "pmemsim/designs/ordering/dpo.hpp"
#include "pmemsim/designs/ordering/eadr.hpp"
#include "pmemsim/designs/ordering/free.hpp"
#include "pmemsim/designs/ordering/hops.hpp"
#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "pmemsim/designs/ordering/pmem_spec_row.hpp"
#include "pmemsim/designs/ordering/x86.hpp"

namespace pmemsim {
namespace {

Choice no_ordering_row() {
  return {.name = "none",
          .summary = "No ordering: lines persist when the caches evict them",
          .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
            return std::make_unique<NoOrdering>();
          }};
}

Choice x86_row() {
  return {.name = "x86",
          .summary = "clwb and sfence: a fence waits until the flushed lines are persistent",
          .by_default = true,
          .gives = {kOrderingFences, kDurableFences, kWritingFlushes},
          .promises = {.fences = FencePromise::kFlushed},
          .parameters = {ParameterGroup::of<X86Parameters>("x86")},
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
            return std::make_unique<X86Ordering>(blueprint.cores,
                                                 blueprint.parameters<X86Parameters>().faults);
          }};
}

Choice free_row() {
  return {.name = "free",
          .summary = "clwb and sfence that neither wait nor guarantee anything",
          .gives = {kOrderingFences, kDurableFences, kWritingFlushes},
          .voids_promises = true,
          .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
            return std::make_unique<FreeOrdering>();
          }};
}

Choice eadr_row() {
  return {.name = "eadr",
          .summary = "Persistent caches: a store is persistent when it becomes visible",
          .gives = {kOrderingFences, kDurableFences},
          .promises = {.stores_in_order = true,
                       .reads_in_order = true,
                       .caches_persist = true,
                       .fences = FencePromise::kStores},
          .parameters = {ParameterGroup::of<EadrParameters>("eadr")},
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
            return std::make_unique<EadrOrdering>(blueprint.cores,
                                                  blueprint.parameters<EadrParameters>().faults);
          }};
}

Choice dpo_row() {
  return {.name = "dpo",
          .summary = "Persist buffers in the coherence domain, written one store at a time (DPO)",
          .gives = {kOrderingFences, kDurableFences},
          .promises = {.stores_in_order = true,
                       .reads_in_order = true,
                       .fences = FencePromise::kStores},
          .parameters = {ParameterGroup::of<DpoParameters>("dpo")},
          .storage =
              [](const Blueprint& blueprint) {
                return DpoOrdering::storage(blueprint.parameters<DpoParameters>(),
                                            blueprint.chip());
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
            return std::make_unique<DpoOrdering>(
                blueprint.cores, blueprint.pm.persistence == PersistencePoint::kAccepted,
                blueprint.parameters<DpoParameters>());
          }};
}

Choice hops_row() {
  return {.name = "hops",
          .summary = "Persist buffers that drain epoch by epoch, with ofence and dfence (HOPS)",
          .gives = {kOrderingFences, kDurableFences},
          .promises = {.reads_in_order = true,
                       .fences = FencePromise::kStores,
                       .regions = RegionPromise::kWhenDeclared},
          .parameters = {ParameterGroup::of<HopsParameters>("hops")},
          .storage =
              [](const Blueprint& blueprint) {
                return HopsOrdering::storage(blueprint.parameters<HopsParameters>(),
                                             blueprint.chip());
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
            return std::make_unique<HopsOrdering>(blueprint.cores,
                                                  blueprint.parameters<HopsParameters>());
          }};
}

}  // namespace

std::vector<Choice> ordering_rows() {
  return {no_ordering_row(), x86_row(),  free_row(),     eadr_row(),
          dpo_row(),         hops_row(), pmem_spec_row()};
}

}  // namespace pmemsim
