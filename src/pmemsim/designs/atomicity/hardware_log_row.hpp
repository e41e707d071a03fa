// The common part of the hardware logs' rows in the table of choices: parameters, the shape of the
// log on a machine, and problems. A problem is a sentence that says why a log can't work with these
// parameters or on that machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/designs/atomicity/hardware_log.hpp"
#include "pmemsim/designs/interface/choice.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {

inline ParameterGroup log_group() { return ParameterGroup::of<HardwareLogParameters>("log"); }

HardwareLog::Shape log_shape(const Blueprint& blueprint, LogKind kind,
                             bool from_controllers = false);

// Returns the problems of any hardware log.
std::vector<std::string> log_problems(const Blueprint& blueprint, const Choice& choice);
// Returns the problems of a log whose headers stay beside data in the write pending queues.
std::vector<std::string> buffered_header_problems(const Blueprint& blueprint, const Choice& choice);
// Returns the problems of an undo log, whose headers are persistent before its entries, in
// log.header_entries.
std::vector<std::string> undo_log_problems(const Blueprint& blueprint, const Choice& choice);
// Returns the problems of a design that keeps lines in the write pending queues.
std::vector<std::string> lad_problems(const Blueprint& blueprint, const Choice& choice);

// Adds a sentence if the list `parameter` has fewer entries than there are threads. Every thread
// may be in a region that stalls for a lock, and keeps an entry of a channel's list meanwhile. The
// thread that holds the lock may need an entry, too.
void add_if_too_small(std::vector<std::string>& problems, std::string_view parameter,
                      std::uint32_t entries, const Blueprint& blueprint);

}  // namespace pmemsim
