// Racing memory accesses, and the order in which they were recorded.
//
//   1  Two accesses race if different threads make them to the same byte, one of them writes, and
//      no synchronisation orders them (happens_before.hpp). Plain accesses of PM count as accesses
//      of whole words (8 bytes), as in the check of crash images. Atomic accesses of one variable
//      don't race: its versions order each write after the previous write, and each read after the
//      write of its value. They don't order a read before the next write.
//   2  The access that was recorded later (turns.hpp) waits for the earlier one. In any replay that
//      respects all waits, each plain load reads the value that it has read in the recording.
//   3  A wait for an operation of a thread includes all of the thread's earlier operations.
//      Therefore a wait that an earlier wait of the same thread includes is not recorded.
//   4  An awaited point of a thread is a point between two of its operations for which another
//      thread waits. The n-th awaited point has version n, as if the thread released an object of
//      its own at that point. Races can therefore be processed like other synchronisation.
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
  // Returns the awaited points of a thread, each as the number of operations before it.
  std::span<const std::uint64_t> awaited(std::uint32_t thread) const {
    return thread < awaited_.size() ? awaited_[thread] : std::span<const std::uint64_t>{};
  }

 private:
  void number_awaited_points();

  // Both are by thread, and empty if the recording has no turns.
  Waits waits_;
  std::vector<std::vector<std::uint64_t>> awaited_;
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
