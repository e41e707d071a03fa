// Programs with threads, one a function: threads NAME COUNT. Each checks its own result.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <latch>
#include <map>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "named_programs.hpp"

namespace {

int count;
long value;
std::mutex mutex;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void run(void (*body)(int)) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

void mutexes() {
  run([](int) {
    for (int i = 0; i < 200; ++i) {
      const std::lock_guard guard(mutex);
      ++value;
    }
  });
  expect(value == 200 * count, "an increment is lost");
}

void condition_variables() {
  static std::condition_variable changed;
  static std::deque<int> queue;
  static bool done = false;
  std::thread producer([] {
    for (int i = 0; i < 300; ++i) {
      const std::lock_guard guard(mutex);
      queue.push_back(i);
      changed.notify_one();
    }
    const std::lock_guard guard(mutex);
    done = true;
    changed.notify_all();
  });
  run([](int) {
    for (;;) {
      std::unique_lock guard(mutex);
      changed.wait(guard, [] { return !queue.empty() || done; });
      if (queue.empty()) return;
      queue.pop_front();
      ++value;
    }
  });
  producer.join();
  expect(value == 300, "an item is lost");
}

void barriers() {
  static pthread_barrier_t barrier;
  static std::vector<int> rounds(count);
  pthread_barrier_init(&barrier, nullptr, count);
  run([](int self) {
    for (int round = 0; round < 20; ++round) {
      rounds[self] = round;
      pthread_barrier_wait(&barrier);
      for (const int other : rounds) expect(other == round, "a thread ran past the barrier");
      pthread_barrier_wait(&barrier);
    }
  });
}

void reader_writer_locks() {
  static std::shared_mutex lock;
  static std::map<int, int> map;
  run([](int self) {
    for (int i = 0; i < 100; ++i) {
      if (i % 10 == self % 10) {
        const std::unique_lock guard(lock);
        ++map[0], std::this_thread::yield(), ++map[1];
      } else {
        const std::shared_lock guard(lock);
        expect(map[0] == map[1], "a reader sees half a write");
      }
    }
  });
}

void semaphores() {
  static sem_t full, empty;
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 3);
  std::thread consumer([] {
    for (int i = 0; i < 100 * count; ++i) {
      sem_wait(&full);
      sem_post(&empty);
    }
  });
  run([](int) {
    for (int i = 0; i < 100; ++i) {
      sem_wait(&empty);
      sem_post(&full);
    }
  });
  consumer.join();
  int left = 0;
  sem_getvalue(&empty, &left);
  expect(left == 3, "a semaphore has a wrong value");
}

void spins() {
  static std::atomic<int> turn;
  static std::atomic_flag locked = ATOMIC_FLAG_INIT;
  run([](int self) {
    for (int i = 0; i < 50; ++i) {
      while (turn.load() != i * count + self) {
      }
      turn.store(i * count + self + 1);
      while (locked.test_and_set()) {
      }
      ++value;
      locked.clear();
    }
  });
  expect(value == 50 * count, "an increment is lost");
}

void cpp20() {
  static std::latch latch(count);
  static std::barrier barrier(count);
  static std::counting_semaphore<1000> semaphore(0);
  static std::atomic<int> go;
  run([](int self) {
    latch.arrive_and_wait();
    for (int i = 0; i < 10; ++i) barrier.arrive_and_wait();
    semaphore.release();
    semaphore.acquire();
    if (self == 0) {
      go = 1;
      go.notify_all();
    } else {
      go.wait(0);
    }
  });
}

void nested_threads() {
  run([](int) {
    std::thread joined([] {
      const std::lock_guard guard(mutex);
      ++value;
    });
    std::thread([] { std::this_thread::yield(); }).detach();
    joined.join();
  });
  expect(value == count, "a thread did not run");
}

void time_outs() {
  run([](int) {
    std::condition_variable never;
    const auto before = std::chrono::steady_clock::now();
    std::unique_lock guard(mutex);
    expect(never.wait_for(guard, std::chrono::milliseconds(5)) == std::cv_status::timeout,
           "no thread has notified");
    guard.unlock();
    std::this_thread::sleep_for(std::chrono::seconds(3));
    expect(std::chrono::steady_clock::now() - before >= std::chrono::seconds(3),
           "time did not pass");
  });
}

void other_locks() {
  static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  static pthread_spinlock_t spin;
  pthread_spin_init(&spin, 0);
  run([](int) {
    for (int i = 0; i < 20; ++i) {
      pthread_mutex_lock(&recursive);
      pthread_mutex_lock(&recursive);
      std::this_thread::yield();
      ++value;
      pthread_mutex_unlock(&recursive);
      pthread_mutex_unlock(&recursive);
      pthread_mutex_lock(&checked);
      expect(pthread_mutex_lock(&checked) == EDEADLK, "locked twice");
      expect(pthread_mutex_trylock(&checked) == EBUSY, "locked twice");
      pthread_mutex_unlock(&checked);
      expect(pthread_mutex_unlock(&checked) == EPERM, "unlocked twice");
      pthread_spin_lock(&spin);
      pthread_spin_unlock(&spin);
    }
  });
  expect(value == 20 * count, "an increment is lost");
}

void robust_mutexes() {
  static pthread_mutex_t robust;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  std::thread([] { pthread_mutex_lock(&robust); }).join();
  expect(pthread_mutex_lock(&robust) == EOWNERDEAD, "the owner has ended");
  expect(pthread_mutex_consistent(&robust) == 0, "not consistent");
  pthread_mutex_unlock(&robust);
}

struct Counted {
  int number = 0;
  ~Counted() {
    const std::lock_guard guard(mutex);
    value += number;
  }
};

thread_local Counted counted;

void thread_locals() {
  static std::once_flag once;
  run([](int self) {
    counted.number = self;
    static const std::string initialised_once = [] {
      std::this_thread::yield();
      return std::string("text");
    }();
    for (;;) {
      try {
        std::call_once(once, [] {
          std::this_thread::yield();
          if (++value == 1) throw std::runtime_error("the first try fails");
        });
        break;
      } catch (const std::runtime_error&) {
      }
    }
    expect(initialised_once == "text", "not initialised");
  });
  expect(value == 2 + count * (count - 1) / 2, "a destructor did not run");
}

void cancelled_threads() {
  run([](int) {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
        },
        nullptr);
    std::this_thread::yield();
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    expect(result == PTHREAD_CANCELED, "not cancelled");
  });
}

void c11_threads() {
  static mtx_t lock;
  static cnd_t changed;
  static bool go = false;
  static once_flag once = ONCE_FLAG_INIT;
  mtx_init(&lock, mtx_plain | mtx_recursive);
  cnd_init(&changed);
  std::vector<thrd_t> threads(count);
  for (thrd_t& thread : threads) {
    thrd_create(
        &thread,
        [](void* step) {
          call_once(&once, [] { value = 1000; });
          mtx_lock(&lock);
          while (!go) cnd_wait(&changed, &lock);
          expect(mtx_trylock(&lock) == thrd_success, "recursive");
          mtx_unlock(&lock);
          value += *static_cast<int*>(step);
          mtx_unlock(&lock);
          return 9;
        },
        &count);
  }
  thrd_yield();
  mtx_lock(&lock);
  go = true;
  cnd_broadcast(&changed);
  mtx_unlock(&lock);
  for (thrd_t& thread : threads) {
    int result = 0;
    expect(thrd_join(thread, &result) == thrd_success && result == 9, "another result");
  }
  expect(value == 1000 + count * count, "an addition is lost");
}

void awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  run([](int) {
    const std::lock_guard guard(mutex);
    std::thread sender([] { kill(getpid(), SIGUSR1); });
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGUSR1);
    int signal = 0;
    expect(sigwait(&awaited, &signal) == 0 && signal == SIGUSR1, "another signal");
    sender.join();
  });
}

// Each thread opens a file that is private to this process, so that other processes of this program
// can run at the same time.
void file_locks() {
  static const std::string name = "/proc/self/fd/" + std::to_string(memfd_create("lock", 0));
  run([](int) {
    std::FILE* file = std::fopen(name.c_str(), "r");
    for (int i = 0; i < 10; ++i) {
      expect(flock(fileno(file), LOCK_EX) == 0, "not locked");
      const long before = value;
      std::this_thread::yield();
      value = before + 1;
      flock(fileno(file), LOCK_UN);
    }
    std::fclose(file);
  });
  expect(value == 10 * count, "an increment is lost");
}

// A thread sees the processors that it asked for, not the one that all recorded threads share.
void processors() {
  static cpu_set_t usable;
  sched_getaffinity(0, sizeof(usable), &usable);
  run([](int) {
    cpu_set_t mine;
    pthread_getaffinity_np(pthread_self(), sizeof(mine), &mine);
    expect(CPU_EQUAL(&mine, &usable), "other processors");
    const int one = sched_getcpu();
    expect(CPU_ISSET(one, &usable), "on a processor of others");
    CPU_ZERO(&mine);
    CPU_SET(one, &mine);
    expect(sched_setaffinity(0, sizeof(mine), &mine) == 0, "not to be had");
    cpu_set_t now;
    sched_getaffinity(0, sizeof(now), &now);
    expect(CPU_EQUAL(&mine, &now) && sched_getcpu() == one, "not as asked for");
  });
}

// More than there is room for at once, one after the other.
void many_threads() {
  for (int round = 0; round < 20; ++round) {
    run([](int) {
      const std::lock_guard guard(mutex);
      ++value;
    });
  }
  expect(value == 20 * count, "a thread did not run");
}

}  // namespace

int main(int, char** arguments) {
  static constexpr NamedProgram kPrograms[] = {
      {"mutexes", mutexes},
      {"condition_variables", condition_variables},
      {"barriers", barriers},
      {"reader_writer_locks", reader_writer_locks},
      {"semaphores", semaphores},
      {"spins", spins},
      {"cpp20", cpp20},
      {"nested_threads", nested_threads},
      {"time_outs", time_outs},
      {"other_locks", other_locks},
      {"robust_mutexes", robust_mutexes},
      {"thread_locals", thread_locals},
      {"cancelled_threads", cancelled_threads},
      {"c11_threads", c11_threads},
      {"awaited_signals", awaited_signals},
      {"file_locks", file_locks},
      {"processors", processors},
      {"many_threads", many_threads},
  };
  count = std::atoi(arguments[2]);
  run_program(kPrograms, arguments[1]);
  std::puts("right");
}
