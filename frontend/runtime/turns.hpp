// Records the order of the threads' turns in the trace.
#pragma once

#include <cstdint>

#include "thread.hpp"

namespace pmemsim::rt {

// Notes that the thread's turn with this number has ended.
void note_turn(Thread& thread, std::uint64_t number);
// Shortens the turns after the calling thread has removed some of its records.
void shorten_turns();
// Called in a child of the recorded process, which records nothing.
void forget_turns();
void write_turns();

}  // namespace pmemsim::rt
