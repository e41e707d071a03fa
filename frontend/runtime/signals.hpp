// Signals that reach the recorded program.
#pragma once

namespace pmemsim::rt {

// After this call, a program that a signal ends leaves no trace.
void watch_signals();
// True if the thread is still in a signal handler; false if a longjmp has left it.
bool still_in_signal();
void install_alternate_stack();

}  // namespace pmemsim::rt
