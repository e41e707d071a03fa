#include "pmemsim/designs/design_energy.hpp"

#include "pmemsim/designs/backend/work_energy.hpp"

namespace pmemsim {

void add_design_energy(const Blueprint& blueprint, const EnergyBill& bill, Energy& energy) {
  // The operations share this cache.
  energy.metadata_caches += bill.look_ups("counter_cache", bill.prices().metadata_cache);
  add_work_energy(bill, energy);
  for (const Choice* const choice : blueprint.design.chosen()) {
    if (choice->energy != nullptr) choice->energy(blueprint, bill, energy);
  }
}

}  // namespace pmemsim
