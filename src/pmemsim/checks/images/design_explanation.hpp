// Explanation of an image: its losses, why the design's guarantees allow each of them, and the
// position of the crash in the program.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/checks/images/design_guarantees.hpp"
#include "pmemsim/checks/images/group_values.hpp"
#include "pmemsim/checks/images/guaranteed_order.hpp"

namespace pmemsim {

// Returns for each group whether it happened before the crash. The crash is assumed as late as
// possible: the image contains all data that are guaranteed at that time.
std::vector<bool> happened_by(const ProgramHistory& history, const GuaranteedOrder& order,
                              const GroupValues& image);

std::vector<std::string> design_explanation(const trace::TraceFile& trace,
                                            const DesignGuarantees& design,
                                            const ProgramHistory& history,
                                            const GuaranteedOrder& order, const GroupValues& image);

}  // namespace pmemsim
