// The atomicity layer's rows of the table of choices.
#pragma once

#include "pmemsim/designs/interface/choice.hpp"

namespace pmemsim {

std::vector<Choice> atomicity_rows();

}  // namespace pmemsim
