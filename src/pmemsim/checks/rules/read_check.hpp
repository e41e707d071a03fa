// Check of stores that a thread computes from other threads' data while these data are possibly
// lost: rule P9 of program_check.hpp.
//
// One dependent store is correct: a pointer that the thread loads from a word and stores in a new
// object, if the first pointer to that object then replaces the pointer in this word. A crash that
// loses the former pointer leaves the new one, or neither. (A push onto a lock-free stack.)
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/checks/rules/flush_check.hpp"
#include "pmemsim/checks/rules/flushed_later.hpp"
#include "pmemsim/checks/rules/read_values.hpp"

namespace pmemsim::check {

class ReadCheck {
 public:
  ReadCheck(FlushedLater& findings, const Lines& lines, const FlushCheck& flushes,
            const ReadValues& values)
      : findings_(findings), lines_(lines), flushes_(flushes), values_(values) {}

  // Processes a store to persistent memory. Returns true if it depends on possibly lost data.
  bool store_pm(const At& at, std::uint64_t address);
  // Processes a store of a pointer into PM.
  void publish(std::uint64_t location, std::uint64_t pointer);
  // Call it when all threads have ended.
  void end();

 private:
  // A finding, unless the first pointer to the stored object's line goes to `word`.
  struct Linked {
    FlushedLater::Entry finding;
    std::uint64_t word, stored;  // Addresses of the load and the store
  };

  FlushedLater& findings_;
  const Lines& lines_;
  const FlushCheck& flushes_;
  const ReadValues& values_;
  std::vector<Linked> linked_;
};

}  // namespace pmemsim::check
