// A full check of a trace, beyond the checks of the reader. It ensures that a run of the trace can
// reach its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

struct Verification {
  std::uint64_t operations = 0;
  // Notes on unusual facts that are not errors, such as a recording that ends inside a thread's
  // region.
  std::vector<std::string> notes;
};

// Reads everything and replays the synchronisation of all threads. Throws TraceError for each of
// these:
// - A frame or record is damaged.
// - Regions don't nest.
// - An object's versions don't increase one by one, or a thread waits for a version that is never
//   reached.
// - The table of races differs from the races of the operations.
Verification verify(const TraceFile& file);

}  // namespace pmemsim::trace
