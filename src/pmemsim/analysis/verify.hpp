// A full check of a trace, beyond what reading it checks: that a run of it can come to its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

struct Verification {
  std::uint64_t operations = 0;
  // What is odd but no error: a thread that the end of the recording cut off inside a region, say.
  std::vector<std::string> notes;
};

// Reads everything and replays the synchronisation of all threads. Throws TraceError if a frame or
// record is damaged, if regions don't nest, if an object's versions aren't made one by one, if
// threads wait for versions that nobody makes, or if the races that it names aren't those it has.
Verification verify(const TraceFile& file);

}  // namespace pmemsim::trace
