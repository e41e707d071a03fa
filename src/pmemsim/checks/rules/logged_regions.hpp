// A recorded program's atomic regions with pm.h's undo log: which call of the program adds which
// lines to the log, and what the library executes for it.
//
//   1  A call is a source line that calls pm_log or pm_log_ranges. If it is in a helper, calls are
//      also distinguished by the line that calls the helper, and so on. A helper is a function that
//      logs, itself or in a callee, and to which no store belongs (analysis/flush_functions.hpp).
//   2  The library adds words that its allocator is going to change to the ranges of the call. They
//      are recorded like ranges. They come last, and the library itself stores to them next.
//   3  A line is logged by the first execution of its region that declares some of it.
//
// The allocator's own regions, and lines that its calls log, belong to no call of the program.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim::check {

// Operations of a thread, by their first and last numbers.
struct OperationRange {
  static constexpr std::uint64_t kNone = UINT64_MAX;
  std::uint64_t first = kNone, last = 0;

  bool empty() const { return first == kNone; }
};

struct LogCall {
  std::string_view name;                     // pm_log or pm_log_ranges
  trace::SourceLocation place;               // Location of the call in the program
  std::vector<trace::SourceLocation> calls;  // Calls of the helpers, the innermost first
};

struct LoggedLine {
  Line line;
  std::vector<std::uint64_t> copies;  // Numbers of the operations that copy it and flush the copy
};

// An execution of the library's code that logs.
struct LogExecution {
  static constexpr std::uint32_t kLibrary = UINT32_MAX;

  std::uint32_t call = kLibrary;                // Index of the program's call
  OperationRange operations;                    // All of its operations
  std::vector<std::vector<Line>> ranges;        // Lines of each range that the program declares
  std::vector<Line> of_library;                 // Lines that the library adds (rule 2)
  std::vector<LoggedLine> logged;               // Lines that it logs (rule 3)
  std::uint64_t fence = OperationRange::kNone;  // Number of its fence
  bool known = true;  // False if it executes something else, such as growing the log
};

struct Allocation {
  std::uint64_t number;  // Number of the operation
  Line first, last;
};

struct LoggedRegion {
  std::uint32_t thread = 0;
  OperationRange operations{};
  std::vector<LogExecution> log{};
  std::vector<Allocation> allocated{};
  // Flushes of the region's data at its end, with their lines, and the fence behind them.
  OperationRange data{};
  std::vector<std::pair<std::uint64_t, Line>> data_flushes{};
  std::uint64_t data_fence = OperationRange::kNone;
  OperationRange commit{};  // The commit of the log, right behind the fence of the data
};

struct LoggedRegions {
  std::vector<LogCall> calls;  // In the order of their sites
  std::vector<LoggedRegion> regions;
};

// Returns the regions that log something. Throws trace::TraceError.
LoggedRegions logged_regions(const trace::TraceFile& trace);

}  // namespace pmemsim::check
