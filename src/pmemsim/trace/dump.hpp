// Operations as text, one per line, for people and for tools like grep.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

// Formats an operation: "store 0x10002a040 8 = 2a00000000000000  btree.cpp:214 insert".
std::string to_text(const Operation& operation, const SiteTable& sites);

// Writes at most `count` of the thread's operations, from `first` on, one a line, with its position
// in front. Throws TraceError, and Error if the output can't be written.
void dump(const TraceFile& file, std::uint32_t thread, std::uint64_t first, std::uint64_t count,
          std::FILE* output);

}  // namespace pmemsim::trace
