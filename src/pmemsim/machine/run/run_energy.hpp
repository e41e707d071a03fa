// The energy of a run with operations of the backend.
#pragma once

#include "pmemsim/common/energy.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

// What the machine uses, and what each chosen implementation adds.
Energy energy_of(const EnergyBill& bill, const Blueprint& blueprint);

}  // namespace pmemsim
