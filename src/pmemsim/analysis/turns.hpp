// The turns in which threads ran, as the recorder wrote them (docs/reference/trace_format.md,
// Turns).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

// The turns of one thread, in order. Keeps one decompressed frame.
class TurnStream {
 public:
  TurnStream(const TraceFile& file, std::uint32_t thread)
      : file_(&file), thread_(thread), operations_(file.operations(thread)) {}

  // Reads the next turn. Returns false at the end. Throws TraceError if a frame is damaged, if the
  // turn doesn't follow the previous one, or if it ends after the thread's end.
  bool next(Turn& turn);

 private:
  bool next_frame();

  const TraceFile* file_;
  std::uint32_t thread_;
  std::uint64_t operations_;    // number of the thread's operations
  std::size_t next_frame_ = 0;  // index into the file's frames
  std::vector<std::byte> raw_;
  std::size_t used_ = 0;  // number of bytes of raw_ that have been read
  Turn last_{};
  bool any_ = false;
};

// The turns of all threads, merged.
class Turns {
 public:
  struct Next {
    std::uint32_t thread;
    Turn turn;
  };

  explicit Turns(const TraceFile& file);

  // True if the recording has turns. Recordings of one thread, old ones and imported ones have
  // none.
  bool recorded() const { return !threads_.empty(); }

  // Returns the thread whose turn is next, or nothing if all threads have ended. `pending` returns
  // the number of a thread's next operation, or nothing if the thread has ended. The numbers of a
  // thread must never decrease. Throws TraceError if an operation has no turn, or if two threads
  // have the same one.
  template <class Pending>
  std::optional<Next> next(Pending pending) {
    std::optional<Next> first;
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
      const std::optional<std::uint64_t> number = pending(thread);
      if (!number) continue;
      const Turn& turn = turn_of(thread, *number);
      if (first && turn.number == first->turn.number) fail_same(thread, *first);
      if (!first || turn.number < first->turn.number) first = {thread, turn};
    }
    return first;
  }

 private:
  const Turn& turn_of(std::uint32_t thread, std::uint64_t number);
  [[noreturn]] void fail_same(std::uint32_t thread, const Next& other) const;

  struct Thread {
    TurnStream stream;
    Turn turn{};
  };

  const TraceFile* file_;
  std::vector<Thread> threads_;  // empty: turns were not recorded
};

}  // namespace pmemsim::trace
