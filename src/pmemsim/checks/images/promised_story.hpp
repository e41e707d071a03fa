// What an image has lost, which promise each loss is in keeping with, and where in the program its
// crash stands.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/checks/images/design_promises.hpp"
#include "pmemsim/checks/images/promised_order.hpp"
#include "pmemsim/checks/images/promised_values.hpp"

namespace pmemsim {

// By group: has it happened when the crash comes as late as possible, so that all that was promised
// is there?
std::vector<bool> happened_by(const ProgramHistory& history, const PromisedOrder& order,
                              const PromisedValues& image);

std::vector<std::string> promised_story(const trace::TraceFile& trace,
                                        const DesignPromises& promises,
                                        const ProgramHistory& history, const PromisedOrder& order,
                                        const PromisedValues& image);

}  // namespace pmemsim
