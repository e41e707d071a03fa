// The reasons why the chosen operations of the backend can't work on this machine, a sentence each.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

// Metadata are accepted in one step with the data that they belong to. All of them therefore have
// to be in write pending queues at the host (Memory::write_together()).
std::vector<std::string> backend_problems(const Blueprint& blueprint);

}  // namespace pmemsim
