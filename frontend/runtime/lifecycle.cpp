// Begin and end of a recorded program.
//
// The runtime starts before all other code of the executable and its shared libraries
// (.preinit_array), so that it sees every lock and every mapping of the program. It restarts the
// program without address randomisation, and runs main() on a stack at a fixed address with its
// arguments at a fixed address. It is the last code to run at the program's end.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <sys/personality.h>
#include <unistd.h>

#include "contents.hpp"
#include "exported.hpp"
#include "external.hpp"
#include "heap.hpp"
#include "libpmem.hpp"
#include "libpmemobj.hpp"
#include "metadata.hpp"
#include "objects.hpp"
#include "openmp.hpp"
#include "output.hpp"
#include "persistent.hpp"
#include "placement.hpp"
#include "pmemsim_rt.h"
#include "processes.hpp"
#include "processor.hpp"
#include "real.hpp"
#include "record.hpp"
#include "region_of_interest.hpp"
#include "replacements.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "signals.hpp"
#include "sites.hpp"
#include "stacks.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "threads.hpp"
#include "turns.hpp"
#include "warm.hpp"
#include "watchdog.hpp"

extern char** environ;

namespace pmemsim::rt {
namespace {

using MainFunction = int (*)(int, char**, char**);

constexpr std::uintptr_t kArgumentsBase = 0x6400'0000'0000;
constexpr std::size_t kMainStackBytes = std::size_t{256} << 20;
constexpr char kRestarted[] = "PMEMSIM_RESTARTED";
constexpr std::uint64_t kStackCanary = 0x70'6d'65'6d'73'69'6d'00;  // the lowest byte is zero

MainFunction users_main = nullptr;

bool starts_with(const char* text, const char* beginning) {
  return std::strncmp(text, beginning, std::strlen(beginning)) == 0;
}

bool is_own_variable(const char* variable, bool restarted) {
  return starts_with(variable, "PMEMSIM_") ||
         (restarted &&
          (starts_with(variable, "LD_BIND_NOW=") || starts_with(variable, "LD_PRELOAD=")));
}

// Removes the runtime's own variables from the environment of the program and its children.
void hide_environment() {
  const bool restarted = std::getenv(kRestarted) != nullptr;
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (const char* users = users_variable(*variable)) {
      *kept++ = const_cast<char*>(users);
    } else if (!is_own_variable(*variable, restarted)) {
      *kept++ = *variable;
    }
  }
  *kept = nullptr;
}

// Tells PMDK that files are on persistent memory, as --pm-path does, whatever the system says.
void configure_pmdk() {
  if (std::getenv("PMEMSIM_PM_PATH") == nullptr) return;
  setenv("PMEM_IS_PMEM_FORCE", "1", 0);
  setenv("PMEM2_FORCE_GRANULARITY", "CACHE_LINE", 0);
}

// Makes OpenMP's threads wait in calls that the runtime intercepts, instead of spinning, whatever
// the user has asked for: threads never run at the same time. OMP_TOOL=disabled would keep the
// runtime from following its constructs.
void configure_openmp() {
  setenv("OMP_WAIT_POLICY", "passive", 1);
  for (const char* variable : {"KMP_BLOCKTIME", "KMP_LIBRARY", "OMP_TOOL"}) unsetenv(variable);
}

// Executes the program again, with the same addresses at each run. The dynamic linker resolves all
// functions at the start, so that recorded calls don't include the resolution.
void restart(char** arguments) {
  if (std::getenv(kRestarted) != nullptr) return;
  const int before = personality(0xffffffff);
  if (before == -1 || personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) == -1) {
    say("address randomisation could not be disabled (%s): recordings of the same program will "
        "differ in their addresses",
        std::strerror(errno));
  }
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = '\0';
  setenv(kRestarted, "1", 1);
  setenv("LD_BIND_NOW", "1", 1);
  configure_pmdk();
  configure_openmp();
  prepare_placement();
  execv(path, arguments);
  abandon_placement();  // more arguments than the smaller stack allows, for example
  execv(path, arguments);
  unsetenv(kRestarted);
}

// Replaces functions of PMDK in the program and its libraries, also those that are loaded later.
void replace_library_functions(const void* module) {
  const Replacements lists[] = {kLibpmem, kLibpmem2, kLibpmemobj, kLibpmemobjAllocation,
                                kLibpmemobjTransactions};
  replace_functions(module, lists, sizeof(lists) / sizeof(lists[0]));
}

void set_stack_canary() { asm volatile("movq %0, %%fs:0x28" : : "r"(kStackCanary)); }

// Returns an absolute path, since the program may change its folder.
const char* absolute(const char* path) {
  auto* text = static_cast<char*>(allocate(8192));
  if (path[0] == '/' || getcwd(text, 4096) == nullptr) text[0] = '\0';
  if (text[0] != '\0') std::strcat(text, "/");
  std::strncat(text, path, 4095);
  return text;
}

void configure_quantum() {
  const char* text = std::getenv("PMEMSIM_QUANTUM");
  if (text == nullptr) return;
  char* end = nullptr;
  quantum = std::strtol(text, &end, 10);
  if (quantum < 1 || quantum > 1'000'000'000 || *end != '\0') {
    fail("PMEMSIM_QUANTUM is \"%s\"; it must be a number of instructions, 1 to 1000000000", text);
  }
}

void before_fork() { active(); }  // acquires the token
void after_fork_in_child() {
  if (mode == Mode::kOff) return;
  stop_sharing_processor();
  output_file = nullptr;  // the file belongs to the parent
  note_fork();
  mode = Mode::kDone;
  keep_only_self();
  self->buffer = nullptr;
  hot.cursor = hot.limit = nullptr;
  forget_turns();
}

// Numbers the threads that have operations, in order of creation.
std::uint32_t number_threads(std::uint32_t* numbers) {
  std::uint32_t count = 0;
  for (Thread* thread : threads) {
    numbers[thread->index] = thread->has_operations ? count++ : kNotRecorded;
  }
  if (count > trace::kMaxThreads) {
    fail("%s has %u threads in its region of interest; a trace holds %u", program_name, count,
         trace::kMaxThreads);
  }
  return count;
}

void write_trace() {
  if (mode == Mode::kWarm || mode == Mode::kStarting) {
    fail(
        "%s contains pm_roi_begin() but never called it, so nothing was recorded; call it, or "
        "record the whole run with PMEMSIM_ROI=whole",
        program_name);
  }
  if (recording()) end_recording();
  const Waiting waits;
  const Counts counts = recorded_counts();
  if (counts.operations == 0) {
    fail("%s executed no instrumented code; compile it with pmemsim-cc", program_name);
  }
  auto* numbers = static_cast<std::uint32_t*>(allocate(threads.size() * sizeof(std::uint32_t)));
  const std::uint32_t thread_count = number_threads(numbers);
  write_turns();
  write_warm_lines(numbers);
  assign_lock_roles();
  write_sites();
  write_metadata(counts, thread_count);
  drain_output();
  finish_output(numbers);
  if (tokens_lost() > 0) {
    say("threads of %s slept %lu times in code that is not instrumented while others were "
        "runnable; later thread turns depend on real time, so a second recording may differ",
        program_name, tokens_lost());
  }
}

// Restores the state of recording if the program ends in a signal handler, where nothing is
// recorded.
void leave_handler() {
  if (self == nullptr || self->signals == 0) return;
  self->signals = 0;
  hot = self->hot_before_signal;
}

// The program's last function: all destructors and exit handlers have run.
void program_ends(int status) {
  if (!is_recorded_process()) return;
  active();  // takes the token
  if (status != 0 && !records_checker) {
    abandon_output();
    say("%s ended with exit status %d while being recorded; no trace was written", program_name,
        status);
  } else {
    leave_handler();
    write_trace();
  }
  mode = Mode::kOff;
}

void on_exit_handler(int status, void*) { program_ends(status); }

// Calls main on another stack.
extern "C" int pmemsim_rt_call_main(int count, char** arguments, char** environment,
                                    MainFunction main, void* stack_top);
asm(R"(
.text
.globl pmemsim_rt_call_main
.hidden pmemsim_rt_call_main
.type pmemsim_rt_call_main, @function
pmemsim_rt_call_main:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %r8, %rsp
  call *%rcx
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size pmemsim_rt_call_main, .-pmemsim_rt_call_main
)");

std::size_t bytes_of(char** strings) {
  std::size_t bytes = sizeof(char*);
  for (; *strings != nullptr; ++strings) bytes += sizeof(char*) + std::strlen(*strings) + 1;
  return bytes;
}

// Copies the arguments to addresses that don't depend on the environment's size or on the command
// that called the program. The order is: the arguments, their strings, the program's name, the
// environment.
struct MainArguments {
  char** arguments;
  char** environment;
};
MainArguments copy_arguments(int count, char** arguments, char** environment) {
  const std::size_t bytes =
      (bytes_of(arguments) + bytes_of(environment) + 0x1fff) & ~std::size_t{0xfff};
  auto* area = static_cast<char*>(reserve(kArgumentsBase, bytes));
  auto** copied = reinterpret_cast<char**>(area);
  char* text = area + sizeof(char*) * static_cast<std::size_t>(count + 1);
  const auto copy = [&](const char* from) {
    char* to = text;
    text = stpcpy(to, from) + 1;
    return to;
  };
  for (int i = 1; i < count; ++i) copied[i] = copy(arguments[i]);
  if (count > 0) copied[0] = copy(arguments[0]);
  text += -reinterpret_cast<std::uintptr_t>(text) % sizeof(char*);
  auto** variables = reinterpret_cast<char**>(text);
  std::size_t variable_count = 0;
  while (environment[variable_count] != nullptr) ++variable_count;
  text += sizeof(char*) * (variable_count + 1);
  for (std::size_t i = 0; i < variable_count; ++i) variables[i] = copy(environment[i]);
  environ = variables;
  return {copied, variables};
}

int main_of_recording(int count, char** arguments, char** environment) {
  if (mode == Mode::kOff) return users_main(count, arguments, environment);
  const MainArguments copies = copy_arguments(count, arguments, environ);
  auto* stack = static_cast<char*>(take_stack(kMainStackBytes));
  on_module = &replace_library_functions;
  for (std::size_t i = 0; i < module_count(); ++i) replace_library_functions(module_at(i));
  main_begins();
  const int status = pmemsim_rt_call_main(count, copies.arguments, copies.environment, users_main,
                                          stack + kMainStackBytes - 64);
  if (recording()) end_recording();
  free_all_teams();
  return status;
}

// Runs before all constructors, also those of shared libraries. The functions called here may
// allocate, and the program's own malloc() may be instrumented: so everything that malloc() needs
// is initialised first.
void start(int count, char** arguments, char** environment) {
  find_real_functions();
  find_operators();
  environ = environment;  // the C library itself sets it only later
  if (count > 0) {
    const char* slash = std::strrchr(arguments[0], '/');
    program_name = slash != nullptr ? slash + 1 : arguments[0];
  }
  if (!is_to_be_recorded()) return;
  const char* path = std::getenv("PMEMSIM_TRACE");
  if (path == nullptr || *path == '\0') return;
  make_site_tables();
  restart(arguments);
  fix_placement();
  set_stack_canary();
  recorded_process = getpid();
  records_checker = std::getenv("PMEMSIM_CHECKER") != nullptr;
  configure_quantum();
  configure_turns();
  configure_region_of_interest();
  const char* metadata = std::getenv("PMEMSIM_METADATA");
  configure_metadata(metadata, count, arguments);
  configure_heap();
  find_recorder();
  grow_descriptor_table();
  open_output(absolute(path));
  attach_main_thread();
  mode = Mode::kStarting;
  configure_persistent_memory();
  configure_contents();
  hide_environment();
  watch_signals();
  if (!records_checker) watch_sleeping_threads();
  on_exit(&on_exit_handler, nullptr);
  pthread_atfork(&before_fork, nullptr, &after_fork_in_child);
}

[[gnu::used, gnu::section(".preinit_array")]] void (*const preinit)(int, char**, char**) = &start;

}  // namespace

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

extern "C" __attribute__((visibility("default"))) int __libc_start_main(
    MainFunction main, int count, char** arguments, void (*init)(), void (*fini)(),
    void (*loader_fini)(), void* stack_end) {
  users_main = main;
  using Start = int (*)(MainFunction, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto next = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(&main_of_recording, count, arguments, init, fini, loader_fini, stack_end);
}

PMEMSIM_EXPORT void exit(int status) noexcept {
  if (active()) {
    if (recording()) end_recording();
    free_all_teams();
  }
  real.exit(status);
  __builtin_unreachable();
}
PMEMSIM_EXPORT void _exit(int status) {
  program_ends(status);
  leave(status);
}
PMEMSIM_EXPORT void _Exit(int status) noexcept {
  program_ends(status);
  leave(status);
}
PMEMSIM_EXPORT void quick_exit(int status) noexcept {
  if (active() && recording()) end_recording();
  program_ends(status);
  real.quick_exit(status);
  __builtin_unreachable();
}
