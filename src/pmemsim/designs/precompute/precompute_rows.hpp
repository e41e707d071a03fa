// The precompute layer's rows in the table of implementations.
#pragma once

#include "pmemsim/designs/interface/choice.hpp"

namespace pmemsim {

std::vector<Choice> precompute_rows();

}  // namespace pmemsim
