// Other interleavings of the same program, on request (`pmemsim record --schedules`).
//
// The scheduler's own rules give one interleaving, schedule 0. Other schedules are random walks,
// which reach as many bugs as bounded searches do (Thomson, Donaldson, Betts: Concurrency testing
// using schedule bounding: an empirical study. PPoPP 2014):
//
// 1. A turn can end behind each access to persistent memory, flush, fence, atomic access and lock
//    operation. It can also end before each atomic access and acquisition. Between these points,
//    threads affect neither each other nor the state after a crash.
// 2. At each of these points the turn ends with the same probability: one in 2, 8, 32 or 128.
//    Schedule 1 uses the first of these, schedule 2 the second, and so on in a cycle. With one in
//    2, threads rarely pass several points in one turn. With one in 128, turns are mostly long, but
//    in another order.
// 3. A turn also ends where the scheduler's own turns do: after a quantum, and where a thread
//    waits.
// 4. The next turn goes to any other thread that can run, each with the same probability.
// 5. The random numbers depend on the seed and the schedule's number alone.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

struct Schedule {
  std::uint64_t number = 0;  // 0: the scheduler's own rules
  std::uint64_t seed = 1;
};
extern Schedule schedule;

inline bool walks_at_random() { return schedule.number != 0; }
// Reads the environment; ends the program if its values are impossible.
void configure_schedule();
// Reads a whole number at `text` and moves `text` behind it; false: there is none.
bool take_number(const char*& text, std::uint64_t& number);
// Returns a random number of 0 to count - 1.
std::uint64_t draw(std::uint64_t count);
// True if the turn ends (rule 2); called at a point of rule 1.
bool ends_turn_here();

}  // namespace pmemsim::rt
