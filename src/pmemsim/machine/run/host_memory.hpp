// Checks that this computer has enough memory for a command's copies of a recording's persistent
// memory. A recording of a few megabytes can describe any number of pages. Therefore the check
// precedes the loading of pages.
#pragma once

#include <cstdint>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// Returns this computer's installed memory in bytes.
std::uint64_t installed_memory();

// Returns the number of copies of the initial contents of persistent memory that take at most
// `available` bytes together.
std::uint64_t copies_that_fit(const trace::TraceFile& trace,
                              std::uint64_t available = installed_memory());

// Throws Error if this number of copies of the initial contents of persistent memory takes more
// than `available` bytes.
void check_host_memory(const trace::TraceFile& trace, std::uint64_t copies,
                       std::uint64_t available = installed_memory());

}  // namespace pmemsim
