// Facts about logged lines while their regions are open, in the order of visible_order.hpp.
// needless_logs.hpp proves by them that recovery doesn't need the log's entries.
//
//   1  A line is clean if everything that was stored to it before has been flushed and fenced.
//      Stores past the caches are flushed. A fence completes the flushes of its thread.
//   2  A store to a logged line counts until its region ends, whichever thread executes it.
//   3  A fence of the library is its own if each flush that it completes is one of the same
//      execution, or of the same end of a region.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/checks/rules/logged_regions.hpp"
#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

// Facts of a logged line.
struct LineFacts {
  static constexpr std::uint32_t kNever = UINT32_MAX;

  bool clean = false;      // Rule 1, when the line is logged
  bool allocated = false;  // The region has allocated the line before
  // Number of the region's executions that had begun at the first store to the line afterwards.
  std::uint32_t stored_after = kNever;
};

struct RegionFacts {
  std::vector<std::vector<LineFacts>> lines;  // By execution and logged line
  std::vector<bool> own_fences;               // By execution, rule 3
  bool own_data_fence = true;
  // Stores of the region's thread to PM, apart from its log: their number, and the only one's word
  // if it is within one.
  std::uint64_t stores = 0;
  std::uint64_t word = 0;
  bool within_word = false;
};

// Returns the facts of each region, in the same order. Flushes and fences may be left out of the
// program. Throws trace::TraceError.
std::vector<RegionFacts> log_facts(const trace::TraceFile& trace,
                                   const std::vector<LoggedRegion>& regions,
                                   const trace::LeftOut& left_out);

}  // namespace pmemsim::check
