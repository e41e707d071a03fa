// Programs that end in unusual ways, or do what is hard to record: endings NAME.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "named_programs.hpp"

namespace {

volatile long cells[4096];
void work(long steps) {
  for (long i = 0; i < steps; ++i) cells[i % 4096] = cells[i % 4096] * 3 + i;
}

int overflow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return overflow(depth + 1) + frame[0];
}

void deadlock() {
  static std::mutex first, second;
  std::thread other([] {
    first.lock();
    work(2000);
    second.lock();
  });
  second.lock();
  work(2000);
  first.lock();
  other.join();
}

void call_back() {
  std::vector<int> numbers(1000);
  for (int& number : numbers) number = std::rand();
  std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
    return *static_cast<const int*>(a) < *static_cast<const int*>(b) ? -1 : 1;
  });
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i - 1] > numbers[i]) std::abort();
  }
}

void catch_exceptions() {
  int caught = 0;
  for (int i = 0; i < 50; ++i) {
    try {
      std::string("abc").at(5);  // thrown by code that is not instrumented
    } catch (const std::out_of_range&) {
      ++caught;
    }
  }
  if (caught != 50) std::abort();
}

volatile int handled;
void handle_signals() {
  std::signal(SIGUSR1, [](int) {
    work(10);
    ++handled;
  });
  for (int i = 0; i < 10; ++i) std::raise(SIGUSR1);
  if (handled != 10) std::abort();
}

sigjmp_buf place;
void jump_out_of_handlers() {
  std::signal(SIGSEGV, [](int) { siglongjmp(place, 1); });
  for (volatile int i = 0; i < 3; i = i + 1) {
    if (sigsetjmp(place, 1) == 0) *reinterpret_cast<volatile int*>(8) = 1;
  }
  work(100);
}

void fork_a_child() {
  const pid_t child = fork();
  if (child == 0) {
    std::thread(work, 1000).join();
    std::exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) != 7) std::abort();
}

void talk_through_a_pipe() {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  int got = 0;
  std::thread reader([&] {
    char byte;
    while (read(ends[0], &byte, 1) == 1) ++got;
  });
  for (int i = 0; i < 5; ++i) {
    work(500);
    if (write(ends[1], "x", 1) != 1) std::abort();
  }
  close(ends[1]);
  reader.join();
  if (got != 5) std::abort();
}

// Reads until there is nothing more, as programs with an event loop do.
void read_without_blocking() {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) std::abort();
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  char byte;
  if (read(ends[0], &byte, 1) != -1 || errno != EAGAIN) std::abort();
  done = true;
  other.join();
}

void wait_for_children() {
  std::thread other(work, 100000);
  pid_t child = fork();
  if (child == 0) _exit(5);
  int status = 0;
  if (wait(&status) != child || WEXITSTATUS(status) != 5) std::abort();
  child = fork();
  if (child == 0) _exit(6);
  siginfo_t information;
  if (waitid(P_PID, child, &information, WEXITED) != 0 || information.si_status != 6) std::abort();
  child = vfork();
  if (child == 0) {
    execlp("sh", "sh", "-c", "exit 8", nullptr);
    _exit(1);
  }
  if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 8) std::abort();
  other.join();
}

void child_dies() {
  const pid_t child = fork();
  if (child == 0) std::abort();
  int status = 0;
  waitpid(child, &status, 0);
  if (WTERMSIG(status) != SIGABRT) std::abort();
}

void leave_threads_running() {
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (;;) work(1000);
    }).detach();
  }
  work(20000);
}

jmp_buf far_away;
int jump(int depth) {
  if (depth == 0) std::longjmp(far_away, 7);
  volatile int deeper = jump(depth - 1);
  return deeper + 1;
}
void jump_over_frames() {
  for (volatile int i = 0; i < 50; i = i + 1) {
    const int result = setjmp(far_away);
    if (result == 0) jump(20);
    if (result != 7) std::abort();
  }
}

volatile int destroyed;
struct Destroyed {
  ~Destroyed() { destroyed = destroyed + 1; }
};
int throw_from(int depth) {
  const Destroyed here;
  if (depth == 0) throw std::runtime_error("thrown");
  return throw_from(depth - 1) + 1;
}
void unwind_frames() {
  for (int i = 0; i < 20; ++i) {
    try {
      throw_from(10);
    } catch (const std::runtime_error&) {
    }
  }
  if (destroyed != 220) std::abort();
}

void handle_stack_overflow() {
  static char other_stack[65536];
  stack_t stack{};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof(other_stack);
  if (sigaltstack(&stack, nullptr) != 0) std::abort();
  struct sigaction action{};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) { siglongjmp(place, 1); };
  sigaction(SIGSEGV, &action, nullptr);
  if (sigsetjmp(place, 1) == 0) overflow(0);
  work(1000);
}

// Threads that begin before main.
std::thread* early = nullptr;
__attribute__((constructor)) void begin_early() {
  if (std::getenv("BEGIN_EARLY") != nullptr) early = new std::thread(work, 5000);
}
void early_thread() {
  if (early == nullptr) std::abort();
  early->join();
}

void load_library() {
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen(std::getenv("LIBRARY"), RTLD_NOW);
    if (library == nullptr) std::abort();
    const auto sum = reinterpret_cast<long (*)(long)>(dlsym(library, "sum"));
    if (sum(3000) != 3000L * 2999 / 2) std::abort();
    dlclose(library);
  }
}

void try_another_program() {
  execl("/nonexistent/program", "program", nullptr);
  execlp("no-such-program", "program", nullptr);
}

}  // namespace

int main(int argument_count, char** arguments) {
  static constexpr NamedProgram kPrograms[] = {
      {"return", [] {}},
      {"exit_in_thread", [] { std::thread([] { std::exit(0); }).join(); }},
      {"_exit", [] { _exit(0); }},
      {"quick_exit", [] { std::quick_exit(0); }},
      {"exit_in_handler",
       [] {
         std::signal(SIGTERM, [](int) { std::exit(0); });
         std::raise(SIGTERM);
       }},
      {"main_thread_ends",
       [] {
         std::thread(work, 5000).detach();
         pthread_exit(nullptr);
       }},
      {"call_back", call_back},
      {"catch_exceptions", catch_exceptions},
      {"handle_signals", handle_signals},
      {"jump_out_of_handlers", jump_out_of_handlers},
      {"fork_a_child", fork_a_child},
      {"talk_through_a_pipe", talk_through_a_pipe},
      {"read_without_blocking", read_without_blocking},
      {"wait_for_children", wait_for_children},
      {"child_dies", child_dies},
      {"leave_threads_running", leave_threads_running},
      {"jump_over_frames", jump_over_frames},
      {"unwind_frames", unwind_frames},
      {"handle_stack_overflow", handle_stack_overflow},
      {"early_thread", early_thread},
      {"load_library", load_library},
      {"try_another_program", try_another_program},
      {"another_program", [] { execl("/bin/true", "true", nullptr); }},
      {"hide_environment", [] { std::exit(std::system("env | grep PMEMSIM") == 0); }},
      {"segmentation_fault", [] { *reinterpret_cast<volatile int*>(8) = 1; }},
      {"abort", [] { std::abort(); }},
      {"uncaught_exception", [] { throw std::runtime_error("an uncaught exception"); }},
      {"stack_overflow", [] { overflow(0); }},
      {"interrupt", [] { std::raise(SIGINT); }},
      {"terminate", [] { std::raise(SIGTERM); }},
      {"exit_status", [] { std::exit(3); }},
      {"_exit_status", [] { _exit(4); }},
      {"deadlock", deadlock},
      {"much", [] { work(3'000'000); }},
      {"forever",
       [] {
         for (;;) work(1000);
       }},
  };
  if (argument_count != 2) return 64;
  work(1000);
  run_program(kPrograms, arguments[1]);
}
