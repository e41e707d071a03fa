// Detects threads that sleep in code that the runtime doesn't see.
#pragma once

namespace pmemsim::rt {

void start_watchdog();
void watch_sleeping_threads();  // handles the watchdog's signal
// Called in the handler of the watchdog's signal. True if the thread is at the instruction where
// the watchdog saw it asleep. The thread then sleeps on after the handler, even in a system call
// that a signal normally interrupts.
bool resume_sleep(void* context);
// True if the thread is in OpenMP's library, which the watchdog then saw in a loop.
bool waits_in_loop(const void* context);
// Called in the handler of another signal. That signal would have ended the system call if the
// watchdog's signal had not interrupted it.
void end_sleep(void* context);

}  // namespace pmemsim::rt
