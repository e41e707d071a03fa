// Detects threads that sleep in code that the runtime doesn't see.
#pragma once

namespace pmemsim::rt {

void start_watchdog();
// Called in the handler of the watchdog's signal. True if the thread is where the watchdog saw it
// asleep. It then continues to sleep after the handler, also in a call that a signal would end.
bool resume_sleep(void* context);
// Called in the handler of another signal, which would have ended that call if it hadn't been
// interrupted.
void end_sleep(void* context);

}  // namespace pmemsim::rt
