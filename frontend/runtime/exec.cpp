// Handles exec in a recorded program. The recording so far is useless, and the user gets a message.
// A child process that calls exec is noted as replaced.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "exported.hpp"
#include "output.hpp"
#include "processes.hpp"
#include "processor.hpp"
#include "real.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

// True if exec would find the file. The functions with a p in their names search the folders in
// PATH.
bool can_execute(const char* file) {
  const char* folders = std::getenv("PATH");
  if (std::strchr(file, '/') != nullptr || folders == nullptr) return access(file, X_OK) == 0;
  while (*folders != '\0') {
    const std::size_t length = std::strcspn(folders, ":");
    char path[4096];
    std::snprintf(path, sizeof(path), "%.*s/%s", static_cast<int>(length), folders, file);
    if (access(path, X_OK) == 0) return true;
    folders += length + (folders[length] == ':' ? 1 : 0);
  }
  return false;
}

void before_exec(const char* file, bool searches) {
  if (mode == Mode::kOff || file == nullptr) return;
  if (!(searches ? can_execute(file) : access(file, X_OK) == 0)) return;
  if (is_recorded_process()) {
    abandon_output();
    say("%s replaced itself by %s while being recorded; no trace was written; record %s itself",
        program_name, file, file);
    stop_sharing_processor();
  } else {
    note_exec();
  }
}

}  // namespace
}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// Collects the arguments of a variadic function. `last` is the last named parameter.
#define PMEMSIM_COLLECT(arguments, list, last)                                 \
  std::va_list list;                                                           \
  va_start(list, last);                                                        \
  std::size_t count = 1;                                                       \
  while (va_arg(list, char*) != nullptr) ++count;                              \
  va_end(list);                                                                \
  auto** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(last);                                      \
  va_start(list, last);                                                        \
  for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

PMEMSIM_EXPORT int execve(const char* path, char* const* arguments,
                          char* const* environment) noexcept {
  before_exec(path, false);
  return real.execve(path, arguments, PMEMSIM_CHILDS_ENVIRONMENT(environment));
}
PMEMSIM_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return execve(path, arguments, environ);
}
PMEMSIM_EXPORT int execvpe(const char* file, char* const* arguments,
                           char* const* environment) noexcept {
  before_exec(file, true);
  return real.execvpe(file, arguments, PMEMSIM_CHILDS_ENVIRONMENT(environment));
}
PMEMSIM_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return execvpe(file, arguments, environ);
}
PMEMSIM_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  PMEMSIM_COLLECT(arguments, list, first);
  va_end(list);
  return execve(path, arguments, environ);
}
PMEMSIM_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  PMEMSIM_COLLECT(arguments, list, first);
  char** environment = va_arg(list, char**);
  va_end(list);
  return execve(path, arguments, environment);
}
PMEMSIM_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  PMEMSIM_COLLECT(arguments, list, first);
  va_end(list);
  return execvpe(file, arguments, environ);
}
