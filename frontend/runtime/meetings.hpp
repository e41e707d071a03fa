// Where threads meet: the locks and the atomic variables that several of them use.
//
// A recording fixes in which order they are used. For the simulated threads to use them in about
// the same order, not to wait for each other's whole turns, a thread that is about to use one gives
// its turn away if it is ahead of others. A switch is dear, so it doesn't where nobody else has
// been for long: the next to come is unlikely to come within the length of a turn.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

// Who has used it, and until when that counts. All zero: nobody.
struct Users {
  std::uint32_t last;                                   // the thread's index, plus one
  std::uint32_t last_counts_until, others_count_until;  // in periods
};

// The calling thread is about to use it, and has used it.
void meet(const Users& users);
void note_use(Users& users);

}  // namespace pmemsim::rt
