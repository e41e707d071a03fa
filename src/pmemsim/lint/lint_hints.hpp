// One run that judges the hints of a recording: settings and a trace in, findings by source line
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/core/parameters.hpp"
#include "pmemsim/lint/findings.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

struct SourcePlace {
  std::string file, function;
  std::uint32_t line = 0;
  auto operator<=>(const SourcePlace&) const = default;
};

struct HintFinding {
  HintCause cause;
  SourcePlace place;
  SourcePlace store;  // of a missing hint: the last store to the line
  bool of_library;    // the hint is one of pm.h's own, or that store is
  SiteFinding found;
};

struct HintReport {
  Picoseconds time{};  // until the last core was done
  HintTotals totals;
  std::uint64_t hints = 0;            // calls, of all threads
  std::vector<HintFinding> findings;  // the most costly ones first
};

// `progress` as simulate() has it. Throws ConfigError, trace::TraceError, StuckError, Error.
HintReport lint_hints(const trace::TraceFile& trace, std::span<const Setting> settings,
                      const std::function<bool(double)>& progress);

}  // namespace pmemsim
