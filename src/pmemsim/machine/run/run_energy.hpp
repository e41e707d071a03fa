// The energy of a run with operations of the backend.
#pragma once

#include "pmemsim/common/energy.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

// Computes the energy of the machine, and of each chosen implementation.
Energy energy_of(const EnergyBill& bill, const Blueprint& blueprint);

}  // namespace pmemsim
