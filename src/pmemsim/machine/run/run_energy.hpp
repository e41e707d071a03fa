// The energy of a run, from its statistics.
#pragma once

#include "pmemsim/common/energy.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

// Computes the energy of the machine, and of each implementation that the design contains. The
// blueprint names them: it is the input from which the design was built.
Energy energy_of(const EnergyBill& bill, const Blueprint& blueprint);

}  // namespace pmemsim
