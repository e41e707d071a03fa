// The designs' recovery procedures, each bound to its machine.
#pragma once

#include <memory>

#include "pmemsim/crash/crash_image.hpp"
#include "pmemsim/sim/machine.hpp"

namespace pmemsim {

// Of the machine's design. What it recovers from is what survives at the time of each call.
std::unique_ptr<Recovery> make_recovery(const Configuration& configuration, const Machine& machine,
                                        const trace::TraceFile& trace);

}  // namespace pmemsim
