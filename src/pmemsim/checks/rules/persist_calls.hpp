// A recorded program's flushes and fences, as its author would count them: what may be left out to
// see whether anybody notices (checks/images/visible_order.hpp, rule 6), and how stories name one
// (checks/images/image_story.hpp).
//
// Most programs flush and fence in small functions that others call (`persist(&node)`), so that an
// instruction stands for all of its callers. What is left out is therefore a *call*:
//
//   1  A store to persistent memory belongs to the innermost function, of those that have led
//      there, that also flushes or fences, itself or by what it calls. A function is a helper if it
//      flushes or fences and no store belongs to it, but for non-temporal ones, which are part of
//      flushing.
//   2  Flushes and fences of a helper are told apart by the line that calls it, and if that stands
//      in a helper, by the line that calls that one, and so on.
//   3  Others are told apart by instruction. An optimising compiler makes several of one line.
//
// Which calls have led to an operation, inlined ones among them, is worked out as in
// call_stack.hpp. What stands in a system header counts as the line that calls it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace pmemsim::check {

struct PersistCall {
  std::string_view name;                  // clwb, clflushopt, clflush, sfence, mfence
  trace::SourcePlace place;               // of the instruction, outside system headers
  std::vector<trace::SourcePlace> calls;  // of the helpers, the innermost first
  // By thread: the numbers of its executions among the thread's operations, ascending.
  std::vector<std::vector<std::uint64_t>> operations;

  std::uint64_t executed() const;
};

// In the order of their instructions: flushes of persistent memory, and fences of stores, that were
// executed. Throws trace::TraceError.
std::vector<PersistCall> persist_calls(const trace::TraceFile& trace);

// Which of them has executed as the thread's operation of that number; nullptr: none.
const PersistCall* find_call(std::span<const PersistCall> calls, std::uint32_t thread,
                             std::uint64_t number);

}  // namespace pmemsim::check
