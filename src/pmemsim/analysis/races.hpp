// Racing memory accesses, and the order in which they were recorded.
//
//   1  Two accesses race if different threads make them to the same byte, one of them writes, and
//      no synchronisation orders them (happens_before.hpp). Plain accesses of PM count as accesses
//      of whole words (8 bytes), as in the check of crash images. Atomic accesses of one variable
//      don't race: its versions order writes, and the reads of their values. A read may follow the
//      next write.
//   2  The access that was recorded later (turns.hpp) waits for the one with which it races. Any
//      replay that respects all waits lets each plain load read the value that it has read in the
//      recording.
//   3  A wait for an operation of a thread includes all of the thread's earlier operations.
//      Therefore a wait that an earlier one includes is not recorded.
//   4  The n-th place of a thread for which others wait has version n, as if the thread released an
//      object of its own there. Races can therefore be processed like other synchronisation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/analysis/race_table.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

class Races {
 public:
  using Wait = RaceWait;
  using Waits = RaceWaits;

  Races() = default;  // no races
  // Reads the races from the recording, or finds them if it has no table. A recording without turns
  // has no known races. Throws TraceError.
  explicit Races(const TraceFile& trace);

  // Returns the waits of a thread, in the order of its operations.
  std::span<const Wait> of(std::uint32_t thread) const {
    return thread < waits_.size() ? waits_[thread] : std::span<const Wait>{};
  }
  // Returns the places of a thread for which others wait: the number of operations that it has
  // executed there.
  std::span<const std::uint64_t> awaited(std::uint32_t thread) const {
    return thread < awaited_.size() ? awaited_[thread] : std::span<const std::uint64_t>{};
  }

 private:
  void number_places();

  Waits waits_;                                      // empty without turns
  std::vector<std::vector<std::uint64_t>> awaited_;  // places by thread; empty without turns
};

// Finds the races by replaying all operations in turns, which the recording must have. Throws
// TraceError.
Races::Waits find_races(const TraceFile& trace);

// Writes the races into a finished recording that has turns, unless it has a table of races. On an
// Error (disk full, ...) the recording is unchanged.
void store_races(const std::string& path);

// Throws TraceError if the recording's table of races differs from the races of its operations.
void verify_races(const TraceFile& trace);

}  // namespace pmemsim::trace
