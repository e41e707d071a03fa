// The memory operations of all threads in the one order in which they became visible.
//
//   1  A thread's operations are in program order.
//   2  Acquisitions of locks and atomic accesses follow the release that the recording names, as in
//      a simulation with the recorded lock order.
//   3  Racing accesses are in the order in which they were recorded (analysis/races.hpp), if the
//      recording says that. So each plain load reads the value that it read in the recording.
//   4  Operations that rules 1 to 3 do not order are scheduled in turns: the thread that has
//      advanced least is next. A turn ends after kTurn operations, and before an operation by which
//      threads may synchronise. A thread that has waited continues at once when its wait ends. Its
//      turn does not end when it releases a lock. So images include crashes while another thread is
//      between a store and its flush.
//   5  A copy (memcpy, memset, rep movs) is not interrupted, except by rule 3.
//   6  Flushes and fences may be left out (trace/left_out.hpp). No value depends on them, so this
//      is the order of the program without them.
//   7  A thread may be delayed: it executes a flush or fence only when no other thread can execute.
//      Then the other threads go as far as they can while the thread's stores may be lost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pmemsim/analysis/races.hpp"
#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/sync_operations.hpp"

namespace pmemsim {

// The failure of one of several hosts that share PM (persistency_model.hpp, rule 9). Thread t runs
// on host t % hosts. With one host, all fail.
struct HostFailure {
  std::uint32_t hosts = 1;
  std::uint32_t failed = 0;  // Number of the failed host, from 0

  bool is_partial() const { return hosts > 1; }
  bool survives(std::uint32_t thread) const { return is_partial() && thread % hosts != failed; }
};

// The difference between the program, order and crash to analyse, and the recorded program in the
// usual order with a crash of everything.
struct Variation {
  static constexpr std::uint32_t kNoThread = UINT32_MAX;

  trace::LeftOut left_out{};          // Rule 6
  std::uint32_t delayed = kNoThread;  // Number of the delayed thread (rule 7)
  HostFailure failure{};
};

class VisibleOrder {
 public:
  static constexpr std::uint64_t kTurn = 2000;

  enum class Loads : std::uint8_t { kOfCopies, kAll };

  // Reads the recording.
  explicit VisibleOrder(const trace::TraceFile& trace, Variation variation = {},
                        Loads loads = Loads::kOfCopies);

  // Moves to the next operation: a store, a load if `loads` includes it, an atomic access, flush,
  // fence or call that synchronises. Returns false at the end. Throws trace::TraceError.
  bool next();

  const trace::Operation& operation() const { return threads_[current_]->operation; }
  std::uint32_t thread() const { return current_; }
  // Returns the number of the thread's operation, from 0.
  std::uint64_t number() const { return threads_[current_]->number; }
  // True if the thread has waited for another one's release before this operation, which is a call
  // that synchronises or takes a lock of the program's own.
  bool waited() const;

 private:
  struct Thread {
    Thread(const trace::TraceFile& trace, std::uint32_t thread, const trace::Races& races,
           const trace::LeftOut& all_left_out)
        : stream(trace, thread),
          left_out(all_left_out, thread),
          races(races.of(thread)),
          awaited(races.awaited(thread)) {}

    trace::OperationStream stream;
    trace::LeftOutOfThread left_out;
    std::span<const trace::Races::Wait> races;  // Waits that may not be over yet
    std::span<const std::uint64_t> awaited;     // Positions not passed yet (races.hpp)
    trace::Operation operation{};
    std::uint64_t number = 0;
    std::uint64_t got = 0;  // Progress of the thread, for its turns
    bool more = false, waits = false;
  };

  void read(Thread& thread) const;
  bool awaits_race(Thread& thread) const;
  bool can_execute(Thread& thread) const;
  bool continues(Thread& thread, std::uint64_t before) const;
  bool may_meet(const trace::Operation& operation) const;
  bool ends_a_wait() const;
  bool is_delayed(std::uint32_t number) const;
  bool choose();
  void release(const trace::Operation& operation);
  static bool passes_awaited_points(Thread& thread);

  const trace::TraceFile& trace_;
  const trace::Races races_;
  const Variation variation_;
  const trace::KindSet kinds_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<trace::ReachedVersion> versions_;  // Versions of synchronisation objects
  std::uint32_t current_ = 0;
  std::uint64_t turn_ends_ = 0;
  bool begun_ = false, released_ = false;
  // The current operation is the first one of its turn; the thread had waited before the turn.
  bool begins_turn_ = false, has_waited_ = false;
};

}  // namespace pmemsim
