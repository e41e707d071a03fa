// The program's lines that led to operations in system headers, such as stores of libraries that
// are recorded at their interface (pmem_memcpy in libpmem.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim::check {

using OperationNumber = std::pair<std::uint32_t, std::uint64_t>;  // Thread, number in the thread
using ProgramLines = std::map<OperationNumber, trace::SourceLocation>;

// Returns for each operation the innermost line on its call path that is outside system headers.
// Throws trace::TraceError.
ProgramLines program_lines(const trace::TraceFile& trace, const std::set<OperationNumber>& wanted);

}  // namespace pmemsim::check
