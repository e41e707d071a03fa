// The table of races in a recording (docs/reference/trace_format.md): reading and writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

// A wait: before its operation `number`, a thread waits until `thread` has executed `count`
// operations.
struct RaceWait {
  std::uint64_t number;
  std::uint64_t count;
  std::uint32_t thread;
  std::uint32_t version;  // version of the awaited point (races.hpp, rule 4)
  bool operator==(const RaceWait&) const = default;
};
using RaceWaits = std::vector<std::vector<RaceWait>>;  // by thread

// Returns the stored races, or nothing if the recording has no table of races. Throws TraceError if
// the table is impossible.
std::optional<RaceWaits> stored_races(const TraceFile& trace);

// Returns the contents of the table.
std::vector<std::byte> race_table(std::span<const std::vector<RaceWait>> waits);

}  // namespace pmemsim::trace
