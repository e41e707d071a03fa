// Other interleavings of the same program, on request (`pmemsim record --schedules`).
//
// The scheduler's own rules give one interleaving, schedule 0. Other schedules are random walks, of
// which Thomson, Donaldson and Betts have found that they reach as many bugs as bounded searches do
// (Concurrency testing using schedule bounding: an empirical study. PPoPP 2014):
//
// 1. A turn can end behind each access to persistent memory, flush, fence, atomic access and
//    operation of a lock, and before each atomic access and acquisition. Elsewhere threads affect
//    neither each other nor what a crash leaves.
// 2. At each of these points it ends with the same probability: one in 2, 8, 32 or 128, which the
//    schedules from 1 on have in turn. The first keep hardly anything together; with the last,
//    threads mostly run through, in another order.
// 3. It also ends where the scheduler's own turns do: after a quantum, and where a thread waits.
// 4. The next turn is that of any other thread that can run, each with the same probability.
// 5. What is drawn depends on the seed and the schedule's number alone.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

struct Schedule {
  std::uint64_t number = 0;  // 0: the scheduler's own
  std::uint64_t seed = 1;
};
extern Schedule schedule;

inline bool walks_at_random() { return schedule.number != 0; }
// From the environment; ends the program if that says something impossible.
void configure_schedule();
// Of 0 to count - 1.
std::uint64_t draw(std::uint64_t count);
// At a point of rule 1: does the turn end (rule 2)?
bool ends_turn_here();

}  // namespace pmemsim::rt
