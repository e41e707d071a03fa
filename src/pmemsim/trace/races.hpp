// Accesses of memory that race, and in which order they were recorded.
//
//   1  Two accesses race if different threads make them to the same word (8 bytes), one of them
//      writes, one isn't atomic, and nothing that synchronises orders them (happens_before.hpp).
//      (Atomic ones are ordered by their versions.)
//   2  Of two that race, the one that was recorded later (turns.hpp) waits for the other. Whoever
//      goes through the threads in any order in which all that is waited for comes first, finds
//      that each access reads what it has read.
//   3  Who waits for an operation of a thread has waited for those before it, too: that is said
//      once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pmemsim::trace {

class TraceFile;

class Races {
 public:
  // Before its operation `number`, a thread waits until `thread` has executed `count` operations.
  struct Wait {
    std::uint64_t number;
    std::uint64_t count;
    std::uint32_t thread;
  };

  // None are known of a recording without turns. Throws TraceError.
  explicit Races(const TraceFile& trace);

  // What a thread waits for, in the order of its operations.
  std::span<const Wait> of(std::uint32_t thread) const {
    return thread < waits_.size() ? waits_[thread] : std::span<const Wait>{};
  }

 private:
  std::vector<std::vector<Wait>> waits_;  // by thread; empty without turns
};

}  // namespace pmemsim::trace
