// Whether this computer has room for what a command keeps of a recording's persistent memory. A few
// megabytes of a recording can stand for any number of pages, so this is asked before any is
// loaded.
#pragma once

#include <cstdint>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// In bytes.
std::uint64_t installed_memory();

// Throws Error if so many copies of what persistent memory holds at the start take more than `room`
// bytes.
void check_room(const trace::TraceFile& trace, std::uint64_t copies,
                std::uint64_t room = installed_memory());

}  // namespace pmemsim
