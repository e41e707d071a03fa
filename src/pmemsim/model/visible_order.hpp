// All threads' operations on memory in the one order in which they became visible.
//
//   1  A thread's operations come in its own order.
//   2  Acquisitions of locks and atomic accesses wait for the release that the recording says, as
//      in a simulation with the recorded order of locks.
//   3  Threads take turns as they took them while they were recorded, if the recording says that
//      (trace/turns.hpp): then this is the one order in which the program ran, races included.
//   4  Else what rule 2 leaves open is guessed: the thread that has got least far has the next
//   turn.
//      A turn ends after kTurn operations, and before one that synchronises, where threads may
//      meet. A thread that has waited goes on at once when what it has waited for has come. A copy
//      (memcpy, memset, rep movs) is not interrupted. Threads that access memory without
//      synchronisation (data races) may have met in another order.
//   5  Flushes and fences may be left out (trace/left_out.hpp). No value depends on them, so that
//      this is the order of the program without them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/turns.hpp"

namespace pmemsim {

class VisibleOrder {
 public:
  static constexpr std::uint64_t kTurn = 2000;

  enum class Loads : std::uint8_t { kOfCopies, kAll };

  // `without`: what is left out (rule 5).
  explicit VisibleOrder(const trace::TraceFile& trace, trace::LeftOut without = {},
                        Loads loads = Loads::kOfCopies);

  // Goes to the next operation: a store, a load if it is to be seen, an atomic access, flush, fence
  // or call that synchronises. False at the end. Throws trace::TraceError.
  bool next();

  const trace::Operation& operation() const { return threads_[current_]->operation; }
  std::uint32_t thread() const { return current_; }
  // Which of the thread's operations it is, from 0.
  std::uint64_t number() const { return threads_[current_]->number; }

 private:
  struct Thread {
    Thread(const trace::TraceFile& trace, std::uint32_t thread, const trace::LeftOut& without)
        : stream(trace, thread), left_out(without, thread) {}

    trace::OperationStream stream;
    trace::LeftOutOfThread left_out;
    trace::Operation operation{};
    std::uint64_t number = 0;
    std::uint64_t got = 0;  // how far it has got, for its turns
    bool more = false, waits = false;
  };

  void read(Thread& thread) const;
  bool can_execute(const Thread& thread) const;
  bool goes_on(const Thread& thread, std::uint64_t before) const;
  bool ends_a_wait() const;
  bool choose() { return turns_.recorded() ? choose_recorded() : choose_guessed(); }
  bool choose_recorded();
  bool choose_guessed();
  void release(const trace::Operation& operation);

  const trace::TraceFile& trace_;
  const trace::LeftOut without_;
  const trace::KindSet kinds_;
  trace::Turns turns_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::uint32_t> versions_;  // of synchronisation objects
  std::uint32_t current_ = 0;
  std::uint64_t turn_ends_ = 0;  // rule 3: by operation; rule 4: by how far its thread has got
  bool begun_ = false, released_ = false;
};

}  // namespace pmemsim
