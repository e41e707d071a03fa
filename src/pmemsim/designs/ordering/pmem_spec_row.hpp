// PMEM-Spec's row of the table of choices.
#pragma once

#include "pmemsim/designs/interface/choice.hpp"

namespace pmemsim {

Choice pmem_spec_row();

}  // namespace pmemsim
