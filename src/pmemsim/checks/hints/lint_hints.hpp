// Checks a recording's hints in one run. Takes a configuration and a trace, and returns findings by
// source line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pmemsim/checks/hints/hint_findings.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {

struct Configuration;

struct HintFinding {
  HintCause cause;
  trace::SourceLocation place;
  trace::SourceLocation store;  // Missing hint: the last store to the line
  bool of_library;              // The hint, or that store, is in pm.h's library
  SiteFinding found;
};

struct HintReport {
  Picoseconds time{};  // Time until the last core was done
  HintTotals totals;
  std::uint64_t hints = 0;            // Number of calls of all threads
  std::vector<HintFinding> findings;  // The most costly ones first
};

// Runs the check. `progress` is called as in simulate(). Throws ConfigError, trace::TraceError,
// StuckError, Error.
HintReport lint_hints(const trace::TraceFile& trace, const Configuration& configuration,
                      const std::function<bool(double)>& progress);

}  // namespace pmemsim
