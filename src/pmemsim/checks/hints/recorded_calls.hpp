// Where a thread's hints and flushes come from: what a recording says of them beyond what the
// simulated machine sees.
//
//   1  A call of another file's function has a record of its own, right before what that does. So a
//      hint comes from the site before its mark, and a flush from its own.
//   2  What pm.h's library does comes from the last site before it that isn't the library's: where
//      the program has called it. Some hints are the library's own.
//   3  A hinted line is freed if the same thread frees the block that it lies in before it flushes
//      the line. Of a block that wasn't allocated in the recorded part, only the first line is
//      known; that memory is unmapped isn't recorded.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/designs/interface/lowering.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

struct RecordedCalls {
  struct Hint {
    std::uint32_t site;
    bool of_library;
  };
  std::vector<Hint> hints;                                  // by their number
  std::set<std::pair<std::uint32_t, std::uint32_t>> freed;  // number, and which of its lines
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> flushes;  // by line: their sites
};

// Is the site's file, as recordings name it, one of pm.h's library?
bool in_library(std::string_view file);

// Of the thread, as a design's program has them. Throws trace::TraceError.
RecordedCalls recorded_calls(const trace::TraceFile& trace, std::uint32_t thread,
                             const Lowering& lowering);

}  // namespace pmemsim
