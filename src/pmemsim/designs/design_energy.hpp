// The energy that a design adds to its machine's.
#pragma once

#include "pmemsim/common/energy.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

void add_design_energy(const Blueprint& blueprint, const EnergyBill& bill, Energy& energy);

}  // namespace pmemsim
