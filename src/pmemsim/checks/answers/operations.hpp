// A recorded program's operations, each of which a crash must leave done or not done. They are its
// regions, or the calls of functions that the user has named.
//
// Recordings contain no calls. They contain the caller's instructions before each call, and the
// called function's instructions after it. So if the next operation of a thread is in another
// function, this means:
//
//   1  a call of that function, if no call of it is being executed;
//   2  otherwise a return to that function: all functions that it has called have ended.
//
// An operation is an outermost call; calls inside it, perhaps of the same function, belong to it.
// It begins with the thread's first recorded operation in the function. It ends with the last
// recorded operation before a return to its caller (rule 2). A function that was inlined has no
// calls; Uses reports this to the user.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::answers {

// An operation of the program: an outermost call or a region, with all recorded operations in it.
struct CallOrRegion {
  std::uint32_t thread;
  std::string name;  // The function's name; empty: a region
  // Numbers of the thread's recorded operations, from 0.
  std::uint64_t first, last;
};

// Return the operations thread by thread, in each thread's order. Throw trace::TraceError.
std::vector<CallOrRegion> regions_of(const trace::TraceFile& trace);
std::vector<CallOrRegion> calls_of(const trace::TraceFile& trace,
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
