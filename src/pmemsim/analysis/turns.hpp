// Which thread ran when, as the recorder has written it down (docs/trace_format.md, Turns).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

// The turns of one thread, in order. Holds one decompressed frame.
class TurnStream {
 public:
  TurnStream(const TraceFile& file, std::uint32_t thread)
      : file_(&file), thread_(thread), operations_(file.operations(thread)) {}

  // False at the end. Throws TraceError on a damaged frame, and if the turn doesn't come behind the
  // one before, or ends behind the thread.
  bool next(Turn& turn);

 private:
  bool next_frame();

  const TraceFile* file_;
  std::uint32_t thread_;
  std::uint64_t operations_;    // of the thread
  std::size_t next_frame_ = 0;  // index into the file's frames
  std::vector<std::byte> raw_;
  std::size_t used_ = 0;  // bytes of raw_
  Turn last_{};
  bool any_ = false;
};

// The turns of all threads, gone through together.
class Turns {
 public:
  struct Next {
    std::uint32_t thread;
    Turn turn;
  };

  explicit Turns(const TraceFile& file);

  // Recordings of one thread, old ones and imported ones have none.
  bool recorded() const { return !threads_.empty(); }

  // Whose turn is next. pending(thread) is the number of the thread's next operation, or nothing if
  // it has ended; it never gets less. Nothing if all have ended. Throws TraceError if an operation
  // has no turn, or two threads have the same one.
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
  std::vector<Thread> threads_;  // empty: not recorded
};

}  // namespace pmemsim::trace
