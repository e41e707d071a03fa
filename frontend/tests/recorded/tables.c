// A table of 64 slots that threads update at random, each under its own lock.
//   tables KIND THREADS UPDATES      updates of each thread; KIND: see kinds[]
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSlots = 64, kWords = 8 };

struct Slot {
  _Alignas(64) pthread_mutex_t mutex;
  atomic_int taken;
  atomic_uint next, serving;
  _Alignas(64) uint64_t words[kWords];
  _Alignas(64) _Atomic uint64_t sum;
};
static struct Slot table[kSlots];

static void add(struct Slot* slot, uint64_t value) {
  for (int i = 0; i < kWords; ++i) slot->words[i] += value >> i;
}

static void mutex(struct Slot* slot, uint64_t value) {
  pthread_mutex_lock(&slot->mutex);
  add(slot, value);
  pthread_mutex_unlock(&slot->mutex);
}

static void waited_for(struct Slot* slot, uint64_t value) { mutex(slot, value); }

static void spin_lock(struct Slot* slot, uint64_t value) {
  while (atomic_exchange_explicit(&slot->taken, 1, memory_order_acquire) != 0) {
    while (atomic_load_explicit(&slot->taken, memory_order_relaxed) != 0) _mm_pause();
  }
  add(slot, value);
  atomic_store_explicit(&slot->taken, 0, memory_order_release);
}

static void ticket_lock(struct Slot* slot, uint64_t value) {
  const unsigned ticket = atomic_fetch_add(&slot->next, 1);
  while (atomic_load(&slot->serving) != ticket) _mm_pause();
  add(slot, value);
  atomic_store_explicit(&slot->serving, ticket + 1, memory_order_release);
}

static void compare_and_swap(struct Slot* slot, uint64_t value) {
  uint64_t sum = atomic_load(&slot->sum);
  while (!atomic_compare_exchange_weak(&slot->sum, &sum, sum + value)) {
  }
}

// In a slot of the thread's own. Says in the end how often another thread has run in between.
static int interruptions;
static void own_slot(struct Slot* slot, uint64_t value) {
  static _Thread_local struct Slot own;
  static _Thread_local long before;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);  // an instruction of any thread takes a nanosecond
  interruptions += before != 0 && now.tv_nsec - before > 500;
  before = now.tv_nsec;
  spin_lock(&own, value);
}

static const struct {
  const char* name;
  void (*update)(struct Slot*, uint64_t);
} kinds[] = {
    {"mutex", mutex},
    {"waited_for", waited_for},
    {"spin_lock", spin_lock},
    {"ticket_lock", ticket_lock},
    {"compare_and_swap", compare_and_swap},
    {"own_slot", own_slot},
};

static void (*update)(struct Slot*, uint64_t);
static int updates;
static pthread_barrier_t start;

// All begin when the last has come, who has had more to do until then.
static void come_one_after_the_other(void) {
  static atomic_int threads;
  const int others = atomic_fetch_add(&threads, 1);
  for (volatile int i = 0; i < 10000 * others; ++i) {
  }
  pthread_barrier_wait(&start);
}

static void* work(void* seed) {
  uint64_t random = (uintptr_t)seed;
  if (update == waited_for) come_one_after_the_other();
  for (int i = 0; i < updates; ++i) {
    for (int round = 0; round < 20; ++round) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
    }
    update(&table[random % kSlots], random);
  }
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 4) return 1;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    if (strcmp(kinds[i].name, arguments[1]) == 0) update = kinds[i].update;
  }
  const int threads = atoi(arguments[2]);
  updates = atoi(arguments[3]);
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  pthread_t handles[16];
  for (int t = 0; t < threads; ++t) {
    pthread_create(&handles[t], NULL, work, (void*)(0x9e3779b97f4a7c15u * (unsigned)(t + 1)));
  }
  for (int t = 0; t < threads; ++t) pthread_join(handles[t], NULL);
  if (update == own_slot) printf("%d\n", interruptions);
  return 0;
}
