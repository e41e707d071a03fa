// What the runtime is doing, and how it tells the user what went wrong.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "thread.hpp"

namespace pmemsim::rt {

enum class Mode : std::uint8_t {
  kOff,       // not being recorded: every function behaves as if the runtime weren't there
  kStarting,  // before main()
  kWarm,      // before the region of interest: lines touched are noted
  kRecording,
  kDone,  // after the region of interest
};

extern Mode mode;
void come_back();
// Is the caller a recorded thread outside a signal handler? If so, it has the token from here on.
inline bool active() {
  if (mode == Mode::kOff || self == nullptr || self->signals != 0) return false;
  if (__builtin_expect(self->state == State::kOutside, 0)) come_back();
  return true;
}
inline bool recording() { return mode == Mode::kRecording; }

extern const char* program_name;
extern pid_t recorded_process;
// Not a child of it, which may share its memory.
bool is_recorded_process();
// Recorded is what a checker does to an image: all of its run, with whatever status it ends, and
// without the instructions of code that isn't instrumented, whose count nobody needs.
extern bool records_checker;

// Ends the program with exit code 2 and leaves no trace behind.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...);
// One line on standard error, "pmemsim: ...".
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);
// Ends the process at once.
[[noreturn]] void leave(int status);

}  // namespace pmemsim::rt
