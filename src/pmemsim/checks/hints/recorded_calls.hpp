// The call sites of a thread's hints and flushes, and the hinted lines that the program has freed.
// The recording contains these data; the simulated machine does not see them.
//
//   1  A call of another file's function has a record of its own, right before the called
//      function's operations. So a hint's call site is the site before the hint's mark. A flush's
//      call site is its own site.
//   2  An operation of pm.h's library is attributed to the last site before it outside the library:
//      the program's call. The library also makes some hints on its own.
//   3  A hinted line is freed if the same thread frees the line's block before it flushes the line.
//      If a block was not allocated in the recorded part, only its first line is known. Unmapping
//      of memory is not recorded.
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
  std::vector<Hint> hints;                                  // By number
  std::set<std::pair<std::uint32_t, std::uint32_t>> freed;  // Hint's number, index of its line
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> flushes;  // Sites, by line
};

// True if the site's file, as recordings name it, is one of pm.h's library.
bool in_library(std::string_view file);

// Returns the thread's calls in the program as the design lowers it. Throws trace::TraceError.
RecordedCalls recorded_calls(const trace::TraceFile& trace, std::uint32_t thread,
                             const Lowering& lowering);

}  // namespace pmemsim
