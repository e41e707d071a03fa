// The only list of designs' parts.
#pragma once

#include "pmemsim/designs/choice.hpp"

namespace pmemsim {

// Every choice of every layer.
const ChoiceTable& choices();

}  // namespace pmemsim
