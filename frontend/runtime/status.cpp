// Functions that all other parts of the runtime may use: whether the program is being recorded,
// messages, and giving up. They call nothing else of the runtime.
#include "status.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

#include "output.hpp"
#include "pmemsim/trace/frame_file.hpp"
#include "real.hpp"

namespace pmemsim::rt {

Mode mode = Mode::kOff;
const char* program_name = "the program";
pid_t recorded_process = 0;
bool records_checker = false;
trace::FrameFile* output_file = nullptr;

bool is_recorded_process() { return mode != Mode::kOff && getpid() == recorded_process; }

void abandon_output() {
  if (output_file != nullptr) output_file->abandon();
}

void leave(int status) {
  real._exit(status);
  __builtin_unreachable();
}

void say(const char* format, ...) {
  char text[1024] = "pmemsim: ";
  const std::size_t used = std::strlen(text);
  std::va_list list;
  va_start(list, format);
  std::vsnprintf(text + used, sizeof(text) - used - 1, format, list);
  va_end(list);
  std::strcat(text, "\n");
  real.syscall(SYS_write, STDERR_FILENO, text, std::strlen(text));
}

void fail(const char* format, ...) {
  abandon_output();
  char text[1000];
  std::va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  say("%s", text);
  leave(2);
}

}  // namespace pmemsim::rt
