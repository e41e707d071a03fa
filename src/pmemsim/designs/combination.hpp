// Whether the implementations that were chosen for the layers work together, and on that machine.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

// Why the chosen parts can't work together, a sentence each; empty if they can.
std::vector<std::string> combination_problems(const Blueprint& blueprint);
// What a user has to know of how the chosen parts work there, a sentence each.
std::vector<std::string> combination_notes(const Blueprint& blueprint);

}  // namespace pmemsim
