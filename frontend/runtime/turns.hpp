// The order of turns, for the trace.
#pragma once

#include <cstdint>

#include "thread.hpp"

namespace pmemsim::rt {

// Ends the thread's turn with this number.
void note_turn(Thread& thread, std::uint64_t number);
// Shortens the turns after the calling thread has removed some of its records.
void shorten_turns();
// Called in a child of the recorded process, which records nothing.
void forget_turns();
void write_turns();

}  // namespace pmemsim::rt
