// Which thread ran when, for the trace.
#pragma once

#include <cstdint>

#include "thread.hpp"

namespace pmemsim::rt {

// The thread's turn, of this number, ends.
void note_turn(Thread& thread, std::uint64_t number);
// Some of what the calling thread has recorded has been taken back.
void shorten_turns();
// In a child of the recorded process, which records nothing.
void forget_turns();
void write_turns();

}  // namespace pmemsim::rt
