// The lines of persistent memory that have been stored to and not been flushed since. A call that
// makes a file persistent (msync, fsync) is recorded as a flush of each of these lines.
//
//  1. Lines are found in the records, so recording itself does nothing for them. The first such
//     call reads the records that are already in the trace.
//  2. Records of different threads are read in any order. A line is therefore clean only if its
//     last store, and a later flush and fence, are of one thread that alone has stored to it.
#pragma once

#include <cstdint>

#include "library_calls.hpp"

namespace pmemsim::rt {

// Finds the dirty lines at the trace's addresses [begin, end), in addition to those found before.
// False: there is nothing to record.
bool find_dirty_lines(std::uint64_t begin, std::uint64_t end);
// Records that everything stored in the lines that have been found becomes persistent.
void persist_dirty_lines(LibraryCall& call);

}  // namespace pmemsim::rt
