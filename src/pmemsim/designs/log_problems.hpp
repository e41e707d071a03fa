// Why a hardware log can't work with these parameters or on that machine, a sentence each.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/designs/design_configuration.hpp"

namespace pmemsim {

// Of any hardware log.
std::vector<std::string> log_problems(const Blueprint& blueprint, const Choice& choice);
// Of one whose headers are persistent before its entries, and stand in log.header_entries.
std::vector<std::string> undo_log_problems(const Blueprint& blueprint, const Choice& choice);
// ... in a queue of ASAP's own, beside its other lists.
std::vector<std::string> asap_problems(const Blueprint& blueprint, const Choice& choice);
// Of one that keeps lines in the write pending queues.
std::vector<std::string> lad_problems(const Blueprint& blueprint, const Choice& choice);

}  // namespace pmemsim
