// Runs all recorded threads on one processor. Only one thread runs at a time, so this costs no
// parallelism. A turn is handed over several times as fast: without an interrupt to another
// processor, and without waking an idle one.
//
// The program sees no difference: its queries return the processors with which it was started, or
// which it has requested. A thread's own processor, as the program sees it, depends on the thread's
// number alone.
#include "processor.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sched.h>
#include <spawn.h>
#include <unistd.h>

#include "exported.hpp"
#include "processes.hpp"
#include "real.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "threads.hpp"

namespace pmemsim::rt {
namespace {

cpu_set_t usable;  // processors with which the program was started
cpu_set_t one;     // the shared one of these processors
bool shared = false;

const cpu_set_t& affinity_of(const Thread& thread) {
  return CPU_COUNT(&thread.affinity) > 0 ? thread.affinity : usable;
}

// Notes the processors that the program requests; the request must be possible.
int note_affinity(Thread* thread, std::size_t bytes, const cpu_set_t* wanted) {
  cpu_set_t possible;
  CPU_ZERO(&possible);
  std::memcpy(&possible, wanted, bytes < sizeof(possible) ? bytes : sizeof(possible));
  CPU_AND(&possible, &possible, &usable);
  if (CPU_COUNT(&possible) == 0) return EINVAL;
  thread->affinity = possible;
  return 0;
}

void show_affinity(const Thread& thread, std::size_t bytes, cpu_set_t* shown) {
  std::memset(shown, 0, bytes);
  std::memcpy(shown, &affinity_of(thread), bytes < sizeof(cpu_set_t) ? bytes : sizeof(cpu_set_t));
}

unsigned processor_of(const Thread& thread) {
  const cpu_set_t& affinity = affinity_of(thread);
  int skip = static_cast<int>(thread.index) % CPU_COUNT(&affinity);
  unsigned processor = 0;
  while (!CPU_ISSET(processor, &affinity) || skip-- > 0) ++processor;
  return processor;
}

// Starts a process that may use all processors.
template <class Start>
auto with_all_processors(Start start) {
  if (!shared) return start();
  real.sched_setaffinity(0, sizeof(usable), &usable);
  const auto result = start();
  const int error = errno;
  real.sched_setaffinity(0, sizeof(one), &one);
  errno = error;
  return result;
}

// Replaces the environment until a shell has been started with it (or a thread has set a variable).
class Environment {
 public:
  explicit Environment(char** other) : before_(environ), other_(other) { environ = other; }
  ~Environment() {
    if (environ == other_) environ = before_;
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  char** before_;
  char** other_;
};

bool is_caller(pid_t process) { return process == 0 || process == gettid(); }

}  // namespace

int usable_processors() {
  if (CPU_COUNT(&usable) == 0 && real.sched_getaffinity(0, sizeof(usable), &usable) != 0) return 1;
  return CPU_COUNT(&usable);
}

void share_processor() {
  const int here = real.sched_getcpu();
  if (shared || usable_processors() < 2 || here < 0 || here >= CPU_SETSIZE) return;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(here), &one);
  shared = real.sched_setaffinity(0, sizeof(one), &one) == 0;  // threads inherit it
}

void stop_sharing_processor() {
  if (shared) real.sched_setaffinity(0, sizeof(usable), &usable);
  shared = false;
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT int sched_setaffinity(pid_t process, std::size_t bytes,
                                     const cpu_set_t* wanted) noexcept {
  if (!active() || !is_caller(process)) return real.sched_setaffinity(process, bytes, wanted);
  const int error = note_affinity(self, bytes, wanted);
  if (error != 0) errno = error;
  return error != 0 ? -1 : 0;
}
PMEMSIM_EXPORT int sched_getaffinity(pid_t process, std::size_t bytes, cpu_set_t* shown) noexcept {
  if (!active() || !is_caller(process)) return real.sched_getaffinity(process, bytes, shown);
  show_affinity(*self, bytes, shown);
  return 0;
}
PMEMSIM_EXPORT int pthread_setaffinity_np(pthread_t handle, std::size_t bytes,
                                          const cpu_set_t* wanted) noexcept {
  Thread* thread = active() ? find_thread(handle) : nullptr;
  if (thread == nullptr) return real.pthread_setaffinity_np(handle, bytes, wanted);
  return note_affinity(thread, bytes, wanted);
}
PMEMSIM_EXPORT int pthread_getaffinity_np(pthread_t handle, std::size_t bytes,
                                          cpu_set_t* shown) noexcept {
  Thread* thread = active() ? find_thread(handle) : nullptr;
  if (thread == nullptr) return real.pthread_getaffinity_np(handle, bytes, shown);
  show_affinity(*thread, bytes, shown);
  return 0;
}
PMEMSIM_EXPORT int sched_getcpu() noexcept {
  return active() ? static_cast<int>(processor_of(*self)) : real.sched_getcpu();
}
PMEMSIM_EXPORT int getcpu(unsigned* processor, unsigned* node) noexcept {
  const int result = real.getcpu(processor, node);
  if (active() && processor != nullptr) *processor = processor_of(*self);
  return result;
}

PMEMSIM_EXPORT int posix_spawn(pid_t* process, const char* path,
                               const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments,
                               char* const* environment) {
  char** childs = PMEMSIM_CHILDS_ENVIRONMENT(environment);
  return with_all_processors(
      [&] { return real.posix_spawn(process, path, actions, attributes, arguments, childs); });
}
PMEMSIM_EXPORT int posix_spawnp(pid_t* process, const char* file,
                                const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const* arguments,
                                char* const* environment) {
  char** childs = PMEMSIM_CHILDS_ENVIRONMENT(environment);
  return with_all_processors(
      [&] { return real.posix_spawnp(process, file, actions, attributes, arguments, childs); });
}
PMEMSIM_EXPORT int system(const char* command) {
  const Environment childs(PMEMSIM_CHILDS_ENVIRONMENT(environ));
  return with_all_processors([&] { return real.system(command); });
}
PMEMSIM_EXPORT FILE* popen(const char* command, const char* type) {
  const Environment childs(PMEMSIM_CHILDS_ENVIRONMENT(environ));
  return with_all_processors([&] { return real.popen(command, type); });
}
