// Accesses of memory that race, and in which order they were recorded.
//
//   1  Two accesses race if different threads make them to the same byte, one of them writes, and
//      nothing that synchronises orders them (happens_before.hpp). In PM plain ones count as of
//      whole words (8 bytes), as they do for whoever judges what is left of them after a crash.
//      Atomic ones of one variable don't race: its versions order writes, and what reads of them;
//      a read may come behind the next write.
//   2  Of two that race, the one that was recorded later (turns.hpp) waits for the other. Whoever
//      goes through the threads in any order in which all that is waited for comes first, finds
//      that each plain load reads what it has read.
//   3  Who waits for an operation of a thread has waited for those before it, too: that is said
//      once.
//   4  Of the places of a thread that others wait for, the n-th has version n, as if the thread
//      released an object of its own there. So races can be gone through as other synchronisation.
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

  Races() = default;  // none
  // Those that stand in the recording, or are found. None are known of a recording without turns.
  // Throws TraceError.
  explicit Races(const TraceFile& trace);

  // What a thread waits for, in the order of its operations.
  std::span<const Wait> of(std::uint32_t thread) const {
    return thread < waits_.size() ? waits_[thread] : std::span<const Wait>{};
  }
  // The places of a thread that others wait for: how many operations it has executed there.
  std::span<const std::uint64_t> awaited(std::uint32_t thread) const {
    return thread < awaited_.size() ? awaited_[thread] : std::span<const std::uint64_t>{};
  }

 private:
  void number_places();

  Waits waits_;                                      // empty without turns
  std::vector<std::vector<std::uint64_t>> awaited_;  // the same
};

// Goes through all operations by turns, which the recording must have. Throws TraceError.
Races::Waits find_races(const TraceFile& trace);

// Writes the races into a finished recording that has turns, unless they are there. Throws Error
// (disk full, ...) and leaves the recording unchanged.
void store_races(const std::string& path);

// Throws TraceError if the races that a recording holds differ from those that it has.
void verify_races(const TraceFile& trace);

}  // namespace pmemsim::trace
