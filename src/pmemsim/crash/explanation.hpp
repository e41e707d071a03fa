// Explanation of a finding: the image's value, the correct value and the reason for it, and the
// earlier events of that line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pmemsim/crash/crash_explanation.hpp"
#include "pmemsim/crash/oracle.hpp"
#include "pmemsim/machine/run/configuration.hpp"

namespace pmemsim {

// A violation at a point: the oracle's finding, another problem, or both.
struct Violation {
  std::uint64_t point = 0;
  Time when{};
  std::optional<Oracle::Finding> finding{};
  std::uint64_t before_recovery = 0;  // Value of the finding's word before recovery
  std::string problem{};
  std::vector<Line> evicted{};    // Dirty lines that the image assumes to be written back
  std::optional<Line> torn{};     // Line that the image assumes to be torn
  bool guaranteed_since = false;  // The image was correct until a later guarantee
};

// Explains the violation. Simulates again up to its point to collect the events that led to it.
CrashExplanation explain_violation(const Violation& violation, const Configuration& configuration,
                                   const trace::TraceFile& trace, const ProgramHistory& history);

}  // namespace pmemsim
