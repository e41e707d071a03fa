// Selects the process that is recorded. A script under `pmemsim record` may start several programs
// with a runtime, also at the same time. The trace contains one of them: the first, or the first
// with the name in PMEMSIM_PROCESS. The recorded process creates the file "recorded" in the folder
// PMEMSIM_PROCESSES and keeps it locked until the process ends. The other processes run without
// recording; each adds a line to the file "others": event, process, name.
//
// A recorded process ends if `pmemsim record` (PMEMSIM_RECORDER) has ended: no other program can
// use the trace.
#include "processes.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

constexpr char kFolder[] = "PMEMSIM_PROCESSES";
constexpr char kClaim[] = "PMEMSIM_CLAIM";  // the descriptor of "recorded", from before the restart
constexpr std::size_t kMaxLine = 512;

pid_t recorder = 0;                       // 0: not known
const char* children_variable = nullptr;  // PMEMSIM_PROCESSES=..., of the recorded process

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

int open_note(const char* folder, const char* file, int flags) {
  char path[4096];
  std::snprintf(path, sizeof(path), "%s/%s", folder, file);
  return open(path, O_WRONLY | O_CREAT | flags, 0666);
}

// Writes a note by one system call, since other processes append to the same file.
void write_note(int file, const char* event) {
  char line[kMaxLine];
  const int name_bytes = static_cast<int>(std::strcspn(program_name, "\n"));
  int bytes = std::snprintf(line, sizeof(line) - 1, "%s %d %.*s", event, getpid(),
                            name_bytes < 400 ? name_bytes : 400, program_name);
  line[bytes++] = '\n';
  real.write(file, line, static_cast<std::size_t>(bytes));
}

void note(const char* folder, const char* event) {
  const int file = open_note(folder, "others", O_APPEND | O_CLOEXEC);
  if (file < 0) return;  // `pmemsim record` has ended
  write_note(file, event);
  close(file);
}

// The lock belongs to the process, not to the descriptor: it survives exec, and children don't
// inherit it.
bool claim(const char* folder) {
  const char* wanted = variable("PMEMSIM_PROCESS");
  if (wanted != nullptr && std::strcmp(wanted, program_name) != 0) return false;
  const int file = open_note(folder, "recorded", O_EXCL);
  if (file < 0) return false;
  struct flock lock{};
  lock.l_type = F_WRLCK;
  fcntl(file, F_SETLK, &lock);
  write_note(file, "recorded");
  char number[16];
  std::snprintf(number, sizeof(number), "%d", file);
  setenv(kClaim, number, 1);
  return true;
}

void remember_for_children(const char* folder) {
  const std::size_t bytes = sizeof(kFolder) + std::strlen(folder) + 1;
  auto* text = static_cast<char*>(allocate(bytes));
  std::snprintf(text, bytes, "%s=%s", kFolder, folder);
  children_variable = text;
}

void note_of_child(const char* event) {
  if (children_variable != nullptr) note(children_variable + sizeof(kFolder), event);
}

}  // namespace

bool is_to_be_recorded() {
  const char* folder = variable(kFolder);
  if (folder == nullptr) return true;
  if (const char* descriptor = variable(kClaim)) {
    fcntl(std::atoi(descriptor), F_SETFD, FD_CLOEXEC);
    remember_for_children(folder);
    return true;
  }
  if (claim(folder)) return true;
  note(folder, "started");
  return false;
}

void find_recorder() {
  const char* number = variable("PMEMSIM_RECORDER");
  recorder = number != nullptr ? std::atoi(number) : 0;
  if (!recorder_lives()) recorder = 0;  // a container has other process numbers
}

bool recorder_lives() {
  return recorder == 0 || real.syscall(SYS_kill, recorder, 0) == 0 || errno != ESRCH;
}

void note_fork() { note_of_child("forked"); }
void note_exec() { note_of_child("replaced"); }

std::size_t bytes_of_childs_environment(char* const* environment) {
  std::size_t count = 2;
  while (environment != nullptr && *environment != nullptr) ++environment, ++count;
  return count * sizeof(char*);
}

char** childs_environment(char* const* environment, void* space) {
  if (children_variable == nullptr) return const_cast<char**>(environment);
  auto** extended = static_cast<char**>(space);
  char** end = extended;
  while (environment != nullptr && *environment != nullptr) *end++ = *environment++;
  *end++ = const_cast<char*>(children_variable);
  *end = nullptr;
  return extended;
}

}  // namespace pmemsim::rt
