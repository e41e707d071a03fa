// The only list of designs' parts: pmemsim's own, and those of plug-ins.
#pragma once

#include <vector>

#include "pmemsim/designs/interface/choice.hpp"

namespace pmemsim {

// Returns every choice of every layer.
const ChoiceTable& choices();

// Adds a plug-in's rows behind the others, so that existing configurations stay valid. Throws
// Error, and adds nothing, if a row or a group of parameters has the name of another one.
void add_choices(const std::vector<Choice>& rows);

}  // namespace pmemsim
