// A run whose time is divided by source line, call path and cause.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {

struct ProfileRow {
  // Numbers of the places in ProfileReport: the line, then the lines that call its function, and so
  // on. Time in flush functions (analysis/flush_functions.hpp), in pm.h's library and in system
  // headers is charged to the lines that call them.
  std::vector<std::uint32_t> calls;
  std::string_view cause;    // what the time was spent on, such as "fence" or "WPQ"
  std::string_view account;  // name of the statistic that includes the time: stall.ACCOUNT_ns
  bool lock = false;         // other threads waited for a lock while its holder stalled here
  Picoseconds time{};
};

struct ProfileReport {
  RunResult result;
  std::vector<trace::SourceLocation> places;
  std::vector<ProfileRow> rows;  // the longest time first
};

// Simulates the trace. The rows of each account add up to exactly its statistic. Throws what
// simulate() throws.
ProfileReport profile(const trace::TraceFile& trace, const Configuration& configuration,
                      const std::function<bool(double)>& progress);

}  // namespace pmemsim
