// ASAP's row of the table of choices.
#pragma once

#include "pmemsim/designs/interface/choice.hpp"

namespace pmemsim {

Choice asap_row();

}  // namespace pmemsim
