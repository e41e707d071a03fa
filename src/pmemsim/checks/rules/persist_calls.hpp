// A recorded program's flushes and fences, as its author would count them. Tests of a check leave
// one out and see whether the check detects this (checks/images/visible_order.hpp, rule 6).
// Explanations name flushes and fences in the same way (checks/images/image_explanation.hpp).
//
// Most programs flush and fence in small functions that others call (`persist(&node)`), so that one
// instruction serves all of its callers. The unit that is left out is therefore a *call*:
//
//   1  A helper is a function that flushes or fences, itself or in a callee, and to which no store
//      belongs (analysis/flush_functions.hpp).
//   2  Flushes and fences of a helper are distinguished by the line that calls it. If that line is
//      in a helper, they are also distinguished by the line that calls that helper, and so on.
//   3  All other flushes and fences are distinguished by instruction. An optimising compiler may
//      make several instructions of one line. An instruction in a system header (pmem_persist() of
//      PMDK is recorded as if it were there) is distinguished by the line that calls the header.
//
// call_stack.hpp determines the calls, also inlined ones, that led to an operation. Code in a
// system header counts as the line that calls it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim::check {

struct PersistCall {
  std::string_view name;                     // One of clwb, clflushopt, clflush, sfence, mfence
  trace::SourceLocation place;               // Location of the instruction, outside system headers
  std::vector<trace::SourceLocation> calls;  // Calls of the helpers, the innermost first
  // By thread: the numbers of its executions among the thread's operations, in ascending order.
  std::vector<std::vector<std::uint64_t>> operations;

  std::uint64_t executed() const;
};

// Returns the executed flushes of persistent memory and fences of stores, in the order of their
// instructions. Throws trace::TraceError.
std::vector<PersistCall> persist_calls(const trace::TraceFile& trace);

// Returns the call that executed as the thread's operation of that number; nullptr: there is none.
const PersistCall* find_call(std::span<const PersistCall> calls, std::uint32_t thread,
                             std::uint64_t number);

}  // namespace pmemsim::check
