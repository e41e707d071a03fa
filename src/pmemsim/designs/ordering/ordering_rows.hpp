// The ordering layer's rows of the table of choices.
#pragma once

#include "pmemsim/designs/interface/choice.hpp"

namespace pmemsim {

std::vector<Choice> ordering_rows();

}  // namespace pmemsim
