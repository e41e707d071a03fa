// The objects at which threads meet: locks and atomic variables that several threads use.
//
// A recording fixes the order in which threads use them. The simulated threads should use them in
// about the same order, without stalling for each other's whole turns. So a thread that is about to
// use one ends its turn if it is ahead of others. A switch is expensive, so the thread keeps its
// turn if no other thread has used the object for long. In that case another use is unlikely within
// the length of a turn.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// The threads that have used the object, and the times until which that counts. All zero: none.
struct Users {
  std::uint32_t last;                                   // the thread's index, plus one
  std::uint32_t last_counts_until, others_count_until;  // in periods
};

// end_turn_if_contended() is called before the calling thread uses the object, note_use() after.
void end_turn_if_contended(const Users& users);
void note_use(Users& users);

}  // namespace pmemsim::rt
