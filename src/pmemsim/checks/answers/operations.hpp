// A recorded program's operations: what a crash must leave done or not done. They are its regions,
// or the calls of functions that the user has named.
//
// Calls aren't recorded, but before each one its caller's instructions are, and behind it those of
// the function that is called. So a thread's operation of another function means:
//
//   1  a call of that function, if it isn't being executed;
//   2  a return to it, if it is: all that it has called has ended.
//
// An operation is an outermost call: what it calls, itself perhaps, belongs to it. It reaches from
// the thread's first operation of its function to the last one before rule 2 says that it has
// ended. A function that was inlined has no calls; the user is told (Uses).
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
  std::string name;  // the function's; empty: a region
  // Of the thread's recorded operations, from 0.
  std::uint64_t first, last;
};

// In each thread's order, one thread after the other. Throws trace::TraceError.
std::vector<ProgramOperation> regions_of(const trace::TraceFile& trace);
std::vector<ProgramOperation> calls_of(const trace::TraceFile& trace,
                                       const std::function<bool(std::string_view)>& is_chosen);

// What a function was executed as.
struct Uses {
  std::string name;
  std::uint64_t calls = 0;    // 0: only inlined
  std::uint64_t inlined = 0;  // operations recorded of it where it was inlined
  std::uint64_t stores = 0;   // to persistent memory, from its calls and what these have called
  std::uint64_t depth = 0;    // of the calls by which it was reached, at least; 0: none
};

// Of each function that was executed, by name. Throws trace::TraceError.
std::vector<Uses> uses_of_functions(const trace::TraceFile& trace);

}  // namespace pmemsim::answers
