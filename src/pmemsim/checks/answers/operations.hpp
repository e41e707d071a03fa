// A recorded program's operations, each of which a crash must leave done or not done. They are its
// regions, or the calls of functions that the user has named.
//
// Calls are not recorded, but the caller's instructions before each call are, and the called
// function's after it. So a thread's operation of another function means:
//
//   1  a call of that function, if it isn't being executed;
//   2  a return to it, if it is: all functions that it has called have ended.
//
// An operation is an outermost call; calls inside it, perhaps of the same function, belong to it.
// It reaches from the thread's first operation of its function to the last one before rule 2 says
// that it has ended. A function that was inlined has no calls; Uses reports this to the user.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::answers {

struct ProgramOperation {
  std::uint32_t thread;
  std::string name;  // The function's name; empty: a region
  // Numbers of the thread's recorded operations, from 0.
  std::uint64_t first, last;
};

// Return the operations thread by thread, in each thread's order. Throw trace::TraceError.
std::vector<ProgramOperation> regions_of(const trace::TraceFile& trace);
std::vector<ProgramOperation> calls_of(const trace::TraceFile& trace,
                                       const std::function<bool(std::string_view)>& is_chosen);

// Counts of a function's executions.
struct Uses {
  std::string name;
  std::uint64_t calls = 0;    // 0: only inlined
  std::uint64_t inlined = 0;  // Operations recorded where the function was inlined
  std::uint64_t stores = 0;   // Stores to persistent memory, from its calls and their callees
  std::uint64_t depth = 0;    // Minimum call depth; 0: no calls
};

// Returns the uses of each executed function, by name. Throws trace::TraceError.
std::vector<Uses> uses_of_functions(const trace::TraceFile& trace);

}  // namespace pmemsim::answers
