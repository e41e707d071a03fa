// Contended objects: locks and atomic variables that several threads use.
//
// A recording fixes the order in which threads use them. Simulated threads use them in about the
// same order, but must not stall for each other's whole turns. So a thread that is about to use
// such an object ends its turn if it is ahead of other threads. A switch is expensive: the thread
// keeps its turn if no other thread has recently used the object, since another use within the
// length of a turn is then unlikely.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// The threads that have used the object, and the times until which these uses count as recent. All
// zero: no thread has used it.
struct Users {
  std::uint32_t last;                                   // the thread's index, plus one
  std::uint32_t last_counts_until, others_count_until;  // in periods
};

// end_turn_if_contended() is called before the calling thread uses the object, note_use() after.
void end_turn_if_contended(const Users& users);
void note_use(Users& users);

}  // namespace pmemsim::rt
