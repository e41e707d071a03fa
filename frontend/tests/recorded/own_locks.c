// Atomic variables that two threads use as locks, or in ways that look like it: own_locks NAME.
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { kTimes = 20 };

static atomic_int lock;
static _Atomic long owner;
static int counter;
static pthread_barrier_t barrier;

static void exchange(long me) {
  (void)me;
  while (atomic_exchange(&lock, 1) != 0) {
    while (atomic_load(&lock) != 0) _mm_pause();
  }
  for (volatile int i = 0; i < 50; ++i) ++counter;  // longer than a turn, so that the other waits
  atomic_store(&lock, 0);
}

static void compare_exchange(long me) {
  long none = 0;
  while (!atomic_compare_exchange_weak(&owner, &none, me)) none = 0;
  ++counter;
  atomic_store_explicit(&owner, 0, memory_order_release);
}

static void assembly(long me) {
  int taken = 1;
  (void)me;
  do {
    __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(lock) : : "memory");
  } while (taken != 0);
  ++counter;
  atomic_store_explicit(&lock, 0, memory_order_release);
}

// A thread initialises the lock again while no thread holds it.
static void initialised_again(long me) {
  pthread_barrier_wait(&barrier);
  if (me == 1) atomic_store(&lock, 0);
  pthread_barrier_wait(&barrier);
  while (atomic_exchange(&lock, 1) != 0) _mm_pause();
  ++counter;
  atomic_store(&lock, 0);
}

// In the end, the same instruction looks at both.
__attribute__((noinline)) static int look(atomic_int* at) { return atomic_load(at); }
static void look_at(atomic_int* one, atomic_int* other) {
  static int uses;
  if (++uses == 2 * kTimes) counter += look(one) + look(other);
}

// Each thread has one of its own, too.
static void beside_others(long me) {
  static atomic_int others[3];
  while (atomic_exchange(&others[me], 1) != 0) _mm_pause();
  atomic_store(&others[me], 0);
  exchange(me);
  look_at(&lock, &others[me]);
}

// There is something else, which is no lock.
static void beside_a_flag(long me) {
  static atomic_int flag;
  counter += atomic_exchange(&flag, (int)me);
  atomic_store(&flag, 3);
  atomic_store(&flag, 0);
  exchange(me);
  look_at(&flag, &lock);
}

// A count of users, which rises and falls, of one after the other.
static void count(long me) {
  for (int turn = 1; turn <= 2; ++turn) {
    if (me == turn) {
      atomic_fetch_add(&lock, 1);
      atomic_fetch_sub(&lock, 1);
    }
    pthread_barrier_wait(&barrier);
  }
}

// The same, of both at a time.
static void count_both(long me) {
  (void)me;
  int users = atomic_load(&lock);
  while (!atomic_compare_exchange_weak(&lock, &users, users + 1)) {
  }
  pthread_barrier_wait(&barrier);
  atomic_fetch_sub(&lock, 1);
  pthread_barrier_wait(&barrier);
}

// Same as exchange(), for thread 1 alone.
static void one_thread(long me) {
  if (me != 1) return;
  while (atomic_exchange(&lock, 1) != 0) _mm_pause();
  ++counter;
  atomic_store(&lock, 0);
}

// Thread 1 takes the lock, thread 2 releases it.
static void released_by_another(long me) {
  if (me == 1) {
    while (atomic_exchange(&lock, 1) != 0) _mm_pause();
  } else {
    while (atomic_load(&lock) != 1) _mm_pause();
    atomic_store(&lock, 0);
  }
}

// Thread 2 writes to it while thread 1 has it.
static void written_by_another(long me) {
  if (me == 1) {
    while (atomic_exchange(&lock, 1) != 0) _mm_pause();
  }
  pthread_barrier_wait(&barrier);
  if (me == 2) atomic_store(&lock, 1);
  pthread_barrier_wait(&barrier);
  if (me == 1) atomic_store(&lock, 0);
  pthread_barrier_wait(&barrier);
  exchange(me);
  pthread_barrier_wait(&barrier);
}

// Each holder leaves a different value in the lock.
static void version(long me) {
  (void)me;
  int seen = atomic_load(&lock) & ~1;
  while (!atomic_compare_exchange_weak(&lock, &seen, seen + 1)) seen &= ~1;
  ++counter;
  atomic_store(&lock, seen + 2);
}

// The last holder doesn't release the lock.
static void kept(long me) {
  static int uses;
  (void)me;
  while (atomic_exchange(&lock, 1) != 0) _mm_pause();
  if (++uses < 2 * kTimes) atomic_store(&lock, 0);
}

// The same instructions use a lock, and count.
__attribute__((noinline)) static int replace(atomic_int* at, int value) {
  return atomic_exchange(at, value);
}
static void mixed(long me) {
  static atomic_int last;
  while (replace(&lock, 1) != 0) _mm_pause();
  ++counter;
  atomic_store(&lock, 0);
  replace(&last, counter + (int)me);
}

// The same function takes a lock and releases it.
static void both_ways(long me) {
  (void)me;
  while (replace(&lock, 1) != 0) _mm_pause();
  ++counter;
  replace(&lock, 0);
}

static const struct {
  const char* name;
  void (*use)(long);
} ways[] = {
    {"exchange", exchange},
    {"compare_exchange", compare_exchange},
    {"assembly", assembly},
    {"initialised_again", initialised_again},
    {"beside_others", beside_others},
    {"beside_a_flag", beside_a_flag},
    {"count", count},
    {"count_both", count_both},
    {"one_thread", one_thread},
    {"released_by_another", released_by_another},
    {"written_by_another", written_by_another},
    {"version", version},
    {"kept", kept},
    {"mixed", mixed},
    {"both_ways", both_ways},
};
static void (*use)(long);

static void* work(void* number) {
  for (int i = 0; i < kTimes; ++i) use((long)number);
  return NULL;
}

int main(int count_of_arguments, char** arguments) {
  for (size_t i = 0; count_of_arguments == 2 && i < sizeof(ways) / sizeof(ways[0]); ++i) {
    if (strcmp(ways[i].name, arguments[1]) == 0) use = ways[i].use;
  }
  if (use == NULL) return 1;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t threads[2];
  for (long t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, work, (void*)(t + 1));
  for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  return 0;
}
