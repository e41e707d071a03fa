// The state of the runtime, and its messages to the user about failures.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "thread.hpp"

namespace pmemsim::rt {

enum class Mode : std::uint8_t {
  kOff,       // not being recorded: every function behaves as without the runtime
  kStarting,  // before main()
  kWarm,      // before the region of interest: lines touched are noted
  kRecording,
  kDone,  // after the region of interest
};

extern Mode mode;
void resume_execution();
// True if the caller is a recorded thread outside a signal handler; it then has the token.
inline bool active() {
  if (mode == Mode::kOff || self == nullptr || self->signals != 0) return false;
  if (__builtin_expect(self->state == State::kOutside, 0)) resume_execution();
  return true;
}
inline bool recording() { return mode == Mode::kRecording; }

extern const char* program_name;
extern pid_t recorded_process;
// True in the recorded process; false in a forked child, even if the child shares the memory.
bool is_recorded_process();
// True if a checker's run on an image is recorded. Then the whole run is recorded, whatever its
// exit status. Instructions of external code are not counted, since they are not needed.
extern bool records_checker;

// Ends the program with exit code 2 and leaves no trace.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...);
// Writes one line to standard error, "pmemsim: ...".
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);
// Ends the process at once.
[[noreturn]] void leave(int status);

}  // namespace pmemsim::rt
