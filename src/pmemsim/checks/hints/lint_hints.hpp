// One run that judges the hints of a recording: a configuration and a trace in, findings by source
// line out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pmemsim/checks/hints/hint_findings.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace pmemsim {

struct Configuration;

struct HintFinding {
  HintCause cause;
  trace::SourcePlace place;
  trace::SourcePlace store;  // of a missing hint: the last store to the line
  bool of_library;           // the hint is one of pm.h's own, or that store is
  SiteFinding found;
};

struct HintReport {
  Picoseconds time{};  // until the last core was done
  HintTotals totals;
  std::uint64_t hints = 0;            // calls, of all threads
  std::vector<HintFinding> findings;  // the most costly ones first
};

// `progress` as simulate() has it. Throws ConfigError, trace::TraceError, StuckError, Error.
HintReport lint_hints(const trace::TraceFile& trace, const Configuration& configuration,
                      const std::function<bool(double)>& progress);

}  // namespace pmemsim
