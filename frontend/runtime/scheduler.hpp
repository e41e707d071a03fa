// The scheduler: of the recorded program's threads only the holder of a token runs.
#pragma once

#include <cstdint>

#include "reserved_memory.hpp"
#include "thread.hpp"

namespace pmemsim::rt {

extern std::int64_t quantum;
extern List<Thread*, 1u << 20> threads;

// From the environment; `quantum` is known.
void configure_turns();
void add_thread(Thread* thread);  // which may have a turn from now on
void keep_only_self();            // in a forked child
// The calling thread waits for its first turn.
void await_turn();
// Lets the others run, and returns at the caller's next turn.
void yield();
// Has the caller executed more than another thread, so much that where they meet it may matter?
bool is_ahead();
// Lets those run that the caller is ahead of.
void let_others_catch_up();
// The same, until `bytes` bytes at `address` differ from `value`.
void yield_until_changed(const volatile void* address, const void* value, std::uint32_t bytes);
// Until poll() says that the descriptor is ready, or the deadline has passed (false).
bool yield_until_ready(int descriptor, short events, std::uint64_t deadline);
// Until wake() or the deadline (0: none). False: the deadline has passed.
bool block(const char* what, SyncObject* object, std::uint64_t deadline);
void wake(Thread* thread);
// The caller will never run again. It isn't the last thread.
void end_thread();
bool only_thread();
// The number of the current turn.
std::uint64_t turn_number();
// Gives the token away in the middle of code that the runtime doesn't see. The thread gets it again
// by come_back(), which its next record leads to. Does nothing if nobody else could run.
void lose_token();
// How often that has happened.
std::uint64_t tokens_lost();
// Where the holder of the token is; thread 0 while the runtime itself may be waiting.
struct Progress {
  pid_t thread;
  std::uint64_t turn;
  std::int64_t budget;
  const std::uint8_t* cursor;
  bool operator==(const Progress&) const = default;
};
Progress progress();
// While one of these exists, the runtime itself is waiting for something.
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

// The program's clock while it is recorded: one nanosecond an instruction, and what it sleeps.
std::uint64_t now();

}  // namespace pmemsim::rt
