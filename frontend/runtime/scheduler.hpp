// The scheduler: of the recorded program's threads only the holder of a token runs.
#pragma once

#include <cstdint>

#include "reserved_memory.hpp"
#include "thread.hpp"

namespace pmemsim::rt {

extern std::int64_t quantum;
extern List<Thread*, 1u << 20> threads;

// Reads the environment; `quantum` must be set.
void configure_turns();
void add_thread(Thread* thread);  // the thread may have a turn from now on
void keep_only_self();            // called in a forked child
// Blocks the calling thread until its first turn.
void await_turn();
// Lets the other threads run, and returns at the caller's next turn.
void yield();
// True if the caller is so far ahead of another thread that their accesses to a common object could
// be recorded in an unlikely order.
bool is_ahead();
// Ends the turn, so that the threads that the caller is ahead of run first.
void let_others_catch_up();
// Yields until `bytes` bytes at `address` differ from `value`.
void yield_until_changed(const volatile void* address, const void* value, std::uint32_t bytes);
// Yields until poll() says that the descriptor is ready, or the deadline has passed (false).
bool yield_until_ready(int descriptor, short events, std::uint64_t deadline);
// Blocks until wake() or the deadline (0: none). False: the deadline has passed.
bool block(const char* what, SyncObject* object, std::uint64_t deadline);
void wake(Thread* thread);
// Ends the caller, which never runs again. It isn't the last thread.
void end_thread();
bool only_thread();
// Returns the number of the current turn.
std::uint64_t turn_number();
// Passes the token on in the middle of code that the runtime doesn't see. The thread requests the
// token again by resume_execution(), which its next record calls. Does nothing if no other thread
// could run.
void lose_token();
// Returns how often the token has been lost.
std::uint64_t tokens_lost();
// The progress of the token's holder. `thread` is 0 while the runtime itself may be waiting.
struct Progress {
  pid_t thread;
  std::uint64_t turn;
  std::int64_t budget;
  const std::uint8_t* cursor;
  bool operator==(const Progress&) const = default;
};
Progress progress();
// While an instance exists, the runtime itself is waiting for something.
class Waiting {
 public:
  Waiting();
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};
// Called when hot.budget is used up.
void quantum_over();
inline void charge(std::int64_t instructions) {
  hot.budget -= instructions;
  if (hot.budget < 0) quantum_over();
}

// Returns the recorded program's clock: one nanosecond an instruction, plus its sleeping time.
std::uint64_t now();

}  // namespace pmemsim::rt
