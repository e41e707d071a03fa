// The rows of the backend's operations in the table of choices. They are here and not in
// designs/backend/, since the interface that declares rows is above the backend.
#pragma once

#include "pmemsim/designs/interface/choice.hpp"

namespace pmemsim {

std::vector<Choice> backend_rows();

}  // namespace pmemsim
