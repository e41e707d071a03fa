// Keeps every recording running: takes the turn from a thread that sleeps in code that the runtime
// doesn't see (a library's own futexes, a system call inside the C library). Such a thread may be
// waiting for a thread that has no turn.
//
// A thread of the runtime regularly samples the holder of the turn. If the holder has been asleep
// in the kernel for some time without progress, a signal makes it pass the turn on. It gets another
// turn as soon as it returns to code that the runtime sees. This point depends on real time, and so
// does the recording from then on; the user gets a message.
#include "watchdog.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "openmp_library.hpp"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

constexpr std::int64_t kLookEvery = 1'000'000;  // nanoseconds
// Number of consecutive samples in which the holder must be asleep. It is smaller for a futex,
// which waits for another thread, than for other system calls, whose events need no thread's turn.
constexpr int kLooksAtFutex = 4;
constexpr int kLooksAtSystemCall = 100;
// OpenMP's library also waits for other threads in loops, without a call.
constexpr int kLooksAtLoop = 100;
constexpr std::size_t kStackBytes = 64 * 1024;
constexpr int kInstructionBytes = 2;  // length of a system call instruction

pid_t watched_process = 0;

// Reads a file of /proc; returns the text's length.
std::size_t read_file(pid_t thread, const char* name, char* text, std::size_t bytes) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", thread, name);
  const int file = static_cast<int>(real.syscall(SYS_open, path, O_RDONLY | O_CLOEXEC, 0));
  if (file < 0) return 0;
  const ssize_t count = real.read(file, text, bytes - 1);
  real.syscall(SYS_close, file);
  text[count > 0 ? count : 0] = '\0';
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

bool asleep(pid_t thread) {
  char text[512];
  if (read_file(thread, "stat", text, sizeof(text)) == 0) return false;
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'S';
}

// The system call in which a thread sleeps.
struct Sleep {
  long system_call;
  std::uint64_t stack_pointer, instruction_pointer;
};
Sleep sleep_of_holder;  // when the signal was sent

bool find_sleep(pid_t thread, Sleep& sleep) {
  char text[256];
  if (read_file(thread, "syscall", text, sizeof(text)) == 0) return false;
  std::uint64_t arguments[6];
  return std::sscanf(text, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &sleep.system_call, &arguments[0],
                     &arguments[1], &arguments[2], &arguments[3], &arguments[4], &arguments[5],
                     &sleep.stack_pointer, &sleep.instruction_pointer) == 9;
}

int patience(const Sleep& sleep) {
  return sleep.system_call == SYS_futex ? kLooksAtFutex : kLooksAtSystemCall;
}

bool signal(pid_t thread) { return real.syscall(SYS_tgkill, getpid(), thread, SIGTRAP) == 0; }

// Sends the signal if the thread has slept for long enough.
bool interrupt(pid_t thread, int looks) {
  Sleep sleep;
  if (!find_sleep(thread, sleep) || looks < patience(sleep)) return false;
  sleep_of_holder = sleep;
  return signal(thread);
}

void* watch(void*) {
  Progress before{};
  int looks = 0, looks_awake = 0;
  for (;;) {
    const timespec pause{0, kLookEvery};
    real.nanosleep(&pause, nullptr);
    const Progress here = progress();
    if (!(here == before)) {
      before = here;
      looks = looks_awake = 0;
    } else if (here.thread != 0 && !asleep(here.thread)) {
      looks = 0;
      if (has_openmp() && ++looks_awake >= kLooksAtLoop && signal(here.thread)) looks_awake = 0;
    } else if (here.thread != 0 && ++looks >= kLooksAtFutex && interrupt(here.thread, looks)) {
      looks = 0;
    }
  }
  return nullptr;
}

// Handles the watchdog's signal.
void on_trap(int, siginfo_t* information, void* context) {
  if (information->si_code != SI_TKILL || self == nullptr || self->signals > 0) return;
  if (!resume_sleep(context) && !waits_in_loop(context)) return;
  const int error = errno;
  lose_token();
  errno = error;
}

}  // namespace

void start_watchdog() {
  if (watched_process == getpid()) return;  // a forked child has no watchdog thread
  watched_process = getpid();
  sigset_t all, before;
  sigfillset(&all);
  real.pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, allocate(kStackBytes), kStackBytes);
  pthread_t handle;
  if (real.pthread_create(&handle, &attributes, &watch, nullptr) != 0) {
    fail("the thread that monitors the recording could not be started");
  }
  pthread_attr_destroy(&attributes);
  real.pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool waits_in_loop(const void* context) {
  return is_openmp(reinterpret_cast<const void*>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]));
}

bool resume_sleep(void* context) {
  self->repeated_call = 0;
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto stack_pointer = static_cast<std::uint64_t>(registers[REG_RSP]);
  const auto behind = static_cast<greg_t>(sleep_of_holder.instruction_pointer);
  if (stack_pointer != sleep_of_holder.stack_pointer) return false;
  // The kernel repeats the call by itself.
  if (registers[REG_RIP] == behind - kInstructionBytes) return true;
  if (registers[REG_RIP] != behind || registers[REG_RAX] != -EINTR) return false;
  registers[REG_RIP] = behind - kInstructionBytes;
  registers[REG_RAX] = sleep_of_holder.system_call;
  self->repeated_call = static_cast<std::uint64_t>(registers[REG_RIP]);
  return true;
}

void end_sleep(void* context) {
  if (self == nullptr || self->repeated_call == 0) return;
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (static_cast<std::uint64_t>(registers[REG_RIP]) == self->repeated_call) {
    registers[REG_RIP] += kInstructionBytes;
    registers[REG_RAX] = -EINTR;
  }
  self->repeated_call = 0;
}

void watch_sleeping_threads() {
  struct sigaction action{};
  action.sa_sigaction = &on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  // Blocks other signals in the handler. Each is handled after it, at the instruction where the
  // thread sleeps.
  sigfillset(&action.sa_mask);
  real.sigaction(SIGTRAP, &action, nullptr);
}

}  // namespace pmemsim::rt
