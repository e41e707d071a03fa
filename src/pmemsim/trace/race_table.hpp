// Races as they stand in a recording (docs/trace_format.md), so that nobody has to look for them
// again.
#pragma once

#include <optional>
#include <string>

#include "pmemsim/trace/races.hpp"

namespace pmemsim::trace {

class TraceFile;

// Nothing if the recording doesn't have them. Throws TraceError if they can't be.
std::optional<Races::Waits> stored_races(const TraceFile& trace);

// Writes them into a finished recording that has turns, unless they are there. Throws Error (disk
// full, ...); the recording is then as it was.
void store_races(const std::string& path);

// Throws TraceError if the races that stand in a recording aren't those that it has.
void verify_races(const TraceFile& trace);

}  // namespace pmemsim::trace
