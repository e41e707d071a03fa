// Programs in which a thread sleeps where the runtime doesn't see it, until another thread, which
// needs a turn for that, wakes it: sleepers NAME.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "named_programs.hpp"

namespace {

volatile long cells[4096];
void work(long steps) {
  for (long i = 0; i < steps; ++i) cells[i % 4096] = cells[i % 4096] * 3 + i;
}

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Makes a system call directly, as libraries do that bypass the C library.
long system_call(long number, long a, long b, long c) {
  long result;
  register long d asm("r10") = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d)
               : "rcx", "r11", "memory");
  return result;
}

void own_futex() {
  static int word;
  const auto address = reinterpret_cast<long>(&word);
  for (int round = 0; round < 5; ++round) {
    word = 0;
    std::thread waker([&] {
      work(20000);
      __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
      system_call(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1);
      work(1000);
    });
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) {
      system_call(SYS_futex, address, FUTEX_WAIT_PRIVATE, 0);
    }
    work(5000);
    waker.join();
  }
}

void standard_input() {
  int ends[2];
  expect(pipe(ends) == 0, "no pipe");
  // The recorder sees the reads of fdopen()'s streams, but not of others.
  std::FILE* file = std::fopen(("/proc/self/fd/" + std::to_string(ends[0])).c_str(), "r");
  std::thread writer([&] {
    work(20000);
    expect(write(ends[1], "hello\n", 6) == 6, "not written");
  });
  char line[20];
  expect(std::fgets(line, sizeof(line), file) != nullptr, "nothing read");
  expect(std::strcmp(line, "hello\n") == 0, "something else read");
  writer.join();
}

void shell() {
  std::thread other([] { work(100000); });
  expect(std::system("sleep 2; exit 3") == 3 << 8, "another exit status");
  other.join();
}

// These two the kernel doesn't repeat after a signal.
void message_queue() {
  const int queue = msgget(IPC_PRIVATE, 0600);
  std::thread sender([&] {
    work(20000);
    const long message[2] = {1, 2};
    msgsnd(queue, message, sizeof(long), 0);
  });
  long message[2];
  expect(msgrcv(queue, message, sizeof(long), 0, 0) == sizeof(long), "nothing received");
  expect(message[1] == 2, "something else received");
  sender.join();
  msgctl(queue, IPC_RMID, nullptr);
}

volatile std::sig_atomic_t signalled;
void pause_for_signal() {
  static const pthread_t sleeper = pthread_self();
  std::signal(SIGUSR1, [](int) { signalled = 1; });
  std::thread other([] {
    work(20000);
    pthread_kill(sleeper, SIGUSR1);
  });
  pause();
  expect(signalled == 1, "woken by another signal");
  other.join();
}

void named_pipe() {
  char path[] = "fifoXXXXXX";
  close(mkstemp(path));
  unlink(path);
  expect(mkfifo(path, 0600) == 0, "no named pipe");
  std::thread writer([&] {
    work(20000);
    close(open(path, O_WRONLY));
  });
  close(open(path, O_RDONLY));
  writer.join();
  unlink(path);
}

}  // namespace

int main(int, char** arguments) {
  static constexpr NamedProgram kPrograms[] = {
      {"own_futex", own_futex},
      {"standard_input", standard_input},
      {"shell", shell},
      {"message_queue", message_queue},
      {"pause_for_signal", pause_for_signal},
      {"named_pipe", named_pipe},
  };
  run_program(kPrograms, arguments[1]);
  std::puts("right");
}
