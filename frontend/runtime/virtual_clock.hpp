// Virtual time, as the recorded program's clocks show it.
#pragma once

#include <cstdint>
#include <ctime>

#include <pthread.h>

namespace pmemsim::rt {

std::uint64_t nanoseconds(const timespec& time);
// Returns the virtual time (in the units of now()) at which `clock` shows `time`; never 0.
std::uint64_t deadline_of(clockid_t clock, const timespec& time);

// Notes the clock that the attributes of a condition variable select.
void note_clock(pthread_cond_t* condition, const pthread_condattr_t* attributes);
clockid_t clock_of(pthread_cond_t* condition);

}  // namespace pmemsim::rt
