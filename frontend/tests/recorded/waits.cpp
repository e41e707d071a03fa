// C++20's means to wait, each with a twin that doesn't order the accesses: NAME right, NAME wrong.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;

long cells[64], other[64], total;
bool right;

// No thread ends before the last one has begun, which could otherwise get the same memory.
template <class Body>
void in_threads(int count, Body body) {
  std::atomic<bool> all{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([=, &all] {
      while (!all) std::this_thread::yield();
      body(i);
    });
  }
  all = true;
  for (std::thread& thread : threads) thread.join();
}

void latch() {
  static std::latch done(kThreads);
  in_threads(kThreads, [](int me) {
    cells[me] = me;
    if (right) {
      done.arrive_and_wait();
    } else {
      done.count_down();
    }
    other[me] = cells[(me + 1) % kThreads];
  });
}

void latch_wait() {
  static std::latch done(kThreads - 1);
  in_threads(kThreads, [](int me) {
    if (me > 0) {
      cells[me] = me;
      if (right || me > 1) done.count_down();
      if (!right && me == 2) done.count_down();
    } else {
      done.wait();
      for (int i = 1; i < kThreads; ++i) total += cells[i];
    }
  });
}

void barrier() {
  static std::barrier rounds(kThreads);
  in_threads(kThreads, [](int me) {
    for (int round = 0; round < 5; ++round) {
      cells[me] = round;
      rounds.arrive_and_wait();
      other[me] += cells[(me + 1) % kThreads];
      if (right) rounds.arrive_and_wait();
    }
  });
}

void barrier_completion() {
  auto add = []() noexcept { total += cells[0] + cells[kThreads - 1]; };
  static std::barrier rounds(kThreads, add);
  in_threads(kThreads, [](int me) {
    for (int round = 0; round < 5; ++round) {
      cells[me] = round;
      auto token = rounds.arrive();
      if (!right) cells[me] = round + 1;
      rounds.wait(std::move(token));
    }
  });
}

void barrier_drop() {
  static std::barrier rounds(kThreads);
  in_threads(kThreads, [](int me) {
    if (me == 0) {
      if (right) cells[0] = 1;
      rounds.arrive_and_drop();
      if (!right) cells[0] = 1;
      return;
    }
    rounds.arrive_and_wait();
    other[me] = cells[0];
    rounds.arrive_and_wait();
  });
}

void semaphore() {
  static std::counting_semaphore<8> items(0);
  in_threads(2, [](int me) {
    for (int i = 0; i < 20; ++i) {
      if (me == 0) {
        if (right) cells[i] = i;
        items.release();
        if (!right) cells[i] = i;
      } else {
        items.acquire();
        total += cells[i];
      }
    }
  });
}

void binary_semaphore() {
  static std::binary_semaphore one(1), two(1);
  in_threads(kThreads, [](int me) {
    std::binary_semaphore& mine = right || me % 2 == 0 ? one : two;
    for (int i = 0; i < 10; ++i) {
      if (i % 3 != 0 || !mine.try_acquire()) mine.acquire();
      ++total;
      mine.release();
    }
  });
}

void atomic_wait() {
  static std::atomic<int> ready{0};
  in_threads(2, [](int me) {
    if (me == 0) {
      if (right) total = 7;
      ready.store(1);
      ready.notify_one();
      if (!right) total = 7;
    } else {
      ready.wait(0);
      cells[0] = total;
    }
  });
}

void atomic_wait_long() {
  static std::atomic<long> turn{0};
  in_threads(kThreads, [](int me) {
    for (int round = 0; round < 5; ++round) {
      for (long now = turn.load(); now % kThreads != me; now = turn.load()) turn.wait(now);
      ++total;
      turn.fetch_add(1);
      turn.notify_all();
      if (!right) ++total;
    }
  });
}

void atomic_flag() {
  static std::atomic_flag lock;
  in_threads(kThreads, [](int) {
    for (int i = 0; i < 10; ++i) {
      while (lock.test_and_set()) lock.wait(true);
      ++total;
      lock.clear();
      lock.notify_one();
      if (!right) ++total;
    }
  });
}

void stop() {
  std::jthread thread([](const std::stop_token& asked) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait(lock, asked, [] { return false; });
    cells[0] = total;
  });
  if (right) total = 7;
  thread.request_stop();
  if (!right) total = 7;
}

const struct {
  const char* name;
  void (*run)();
} waits[] = {
    {"latch", latch},
    {"latch_wait", latch_wait},
    {"barrier", barrier},
    {"barrier_completion", barrier_completion},
    {"barrier_drop", barrier_drop},
    {"semaphore", semaphore},
    {"binary_semaphore", binary_semaphore},
    {"atomic_wait", atomic_wait},
    {"atomic_wait_long", atomic_wait_long},
    {"atomic_flag", atomic_flag},
    {"stop", stop},
};

}  // namespace

int main(int count, char** arguments) {
  right = count > 2 && std::strcmp(arguments[2], "right") == 0;
  for (const auto& wait : waits) {
    if (count == 1) std::puts(wait.name);
    if (count > 1 && std::strcmp(arguments[1], wait.name) == 0) wait.run();
  }
  return 0;
}
