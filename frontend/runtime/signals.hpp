// Signals that reach the recorded program.
#pragma once

namespace pmemsim::rt {

// From here on, a program that dies of a signal leaves no trace.
void watch_signals();
// Is the thread still in a signal handler, or has a longjmp left it?
bool still_in_signal();
void install_alternate_stack();

}  // namespace pmemsim::rt
