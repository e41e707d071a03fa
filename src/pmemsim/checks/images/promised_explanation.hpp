// Explanation of an image: its losses, why the design's guarantees allow each of them, and the
// position of the crash in the program.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/checks/images/design_promises.hpp"
#include "pmemsim/checks/images/promised_order.hpp"
#include "pmemsim/checks/images/promised_values.hpp"

namespace pmemsim {

// Returns for each group whether it happened before the crash. The crash is assumed as late as
// possible: the image contains all data that are guaranteed at that time.
std::vector<bool> happened_by(const ProgramHistory& history, const PromisedOrder& order,
                              const PromisedValues& image);

std::vector<std::string> promised_explanation(const trace::TraceFile& trace,
                                              const DesignPromises& promises,
                                              const ProgramHistory& history,
                                              const PromisedOrder& order,
                                              const PromisedValues& image);

}  // namespace pmemsim
