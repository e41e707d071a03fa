// Checks whether the implementations chosen for the layers work together, and on this machine.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

// Returns the reasons why the chosen parts can't work together, a sentence each; empty if they can.
std::vector<std::string> combination_problems(const Blueprint& blueprint);
// Returns notes for the user on how the chosen parts work on this machine, a sentence each.
std::vector<std::string> combination_notes(const Blueprint& blueprint);

}  // namespace pmemsim
