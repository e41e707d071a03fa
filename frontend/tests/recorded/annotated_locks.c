// Locks that a program has made itself, with annotations (without: -DWITHOUT_ANNOTATIONS), around
// regions: annotated_locks NAME. Prints how often a critical section has been entered, and what it
// has counted.
#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmemsim/pm.h"

#ifdef WITHOUT_ANNOTATIONS
#undef PM_ACQUIRES
#undef PM_TRY_ACQUIRES
#undef PM_RELEASES
#define PM_ACQUIRES
#define PM_TRY_ACQUIRES
#define PM_RELEASES
#endif

enum { kThreads = 4, kTimes = 25 };

static pm_pool* pool;
static uint64_t* data;
static pthread_barrier_t barrier;
static atomic_int sections;
static _Thread_local unsigned thread;

static void section(uint64_t* counter) {
  atomic_fetch_add(&sections, 1);
  pm_begin(pool);
  pm_log(counter, sizeof *counter);
  *counter += 1;
  pm_end();
}

// ---- A ticket lock --------------------------------------------------------------------------

static struct ticket_lock {
  atomic_uint next, serving;
} tickets;
PM_ACQUIRES static void take_ticket(struct ticket_lock* lock) {
  const unsigned mine = atomic_fetch_add(&lock->next, 1);
  while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine) _mm_pause();
}
PM_RELEASES static void call_next(struct ticket_lock* lock) {
  const unsigned now = atomic_load_explicit(&lock->serving, memory_order_relaxed);
  atomic_store_explicit(&lock->serving, now + 1, memory_order_release);
}
static void ticket_of(struct ticket_lock* lock) {
  take_ticket(lock);
  section(data);
  call_next(lock);
}
static void ticket(void) { ticket_of(&tickets); }

// ---- An MCS lock ------------------------------------------------------------------------------

struct waiter {
  _Atomic(struct waiter*) next;
  atomic_bool waits;
};
typedef _Atomic(struct waiter*) queue_lock;
static queue_lock last;
PM_ACQUIRES static void join(queue_lock* lock, struct waiter* me) {
  atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&me->waits, true, memory_order_relaxed);
  struct waiter* before = atomic_exchange(lock, me);
  if (before == NULL) return;
  atomic_store_explicit(&before->next, me, memory_order_release);
  while (atomic_load_explicit(&me->waits, memory_order_acquire)) _mm_pause();
}
PM_TRY_ACQUIRES static bool try_to_join(queue_lock* lock, struct waiter* me) {
  struct waiter* none = NULL;
  atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
  return atomic_compare_exchange_strong(lock, &none, me);
}
PM_RELEASES static void hand_on(queue_lock* lock, struct waiter* me) {
  struct waiter* next = atomic_load_explicit(&me->next, memory_order_acquire);
  if (next == NULL) {
    struct waiter* self = me;
    if (atomic_compare_exchange_strong(lock, &self, NULL)) return;
    while ((next = atomic_load_explicit(&me->next, memory_order_acquire)) == NULL) _mm_pause();
  }
  atomic_store_explicit(&next->waits, false, memory_order_release);
}
static void mcs(void) {
  struct waiter me;
  join(&last, &me);
  section(data);
  hand_on(&last, &me);
}
static void tried(void) {
  struct waiter me;
  while (!try_to_join(&last, &me)) _mm_pause();
  section(data);
  hand_on(&last, &me);
}

// ---- A lock that is recognised, too -------------------------------------------------------------

static atomic_int taken[4];
PM_ACQUIRES static void spin_until_taken(atomic_int* lock) {
  while (atomic_exchange(lock, 1) != 0) {
    while (atomic_load(lock) != 0) _mm_pause();
  }
}
PM_RELEASES static void give_back(atomic_int* lock) {
  atomic_store_explicit(lock, 0, memory_order_release);
}
static void spin(void) {
  spin_until_taken(taken);
  section(data);
  give_back(taken);
}
// Inside others that are, or aren't.
static void nested(void) {
  take_ticket(&tickets);
  for (int i = 0; i < 3; ++i) {
    spin_until_taken(&taken[i]);
    section(data + 8 * i);
    give_back(&taken[i]);
  }
  call_next(&tickets);
}

// ---- A lock made of a futex, whose word is the lock --------------------------------------------

static atomic_int word;
PM_ACQUIRES static void wait_for_word(atomic_int* lock) {
  int seen = 0;
  if (atomic_compare_exchange_strong(lock, &seen, 1)) return;
  if (seen != 2) seen = atomic_exchange(lock, 2);
  while (seen != 0) {
    syscall(SYS_futex, lock, FUTEX_WAIT, 2, NULL, NULL, 0);
    seen = atomic_exchange(lock, 2);
  }
}
PM_RELEASES static void free_word(atomic_int* lock) {
  if (atomic_exchange(lock, 0) == 2) syscall(SYS_futex, lock, FUTEX_WAKE, 1, NULL, NULL, 0);
}
static void futex(void) {
  wait_for_word(&word);
  section(data);
  for (int i = 0; i < 3; ++i) sched_yield();
  free_word(&word);
}

// ---- A lock that begins with one of the C library's ---------------------------------------------

static struct wrapped {
  pthread_mutex_t mutex;
  long users;
} wrapped = {PTHREAD_MUTEX_INITIALIZER, 0};
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
PM_ACQUIRES static void take_wrapped(struct wrapped* lock) {
  pthread_mutex_lock(&lock->mutex);
  lock->users += 1;
}
PM_RELEASES static void give_wrapped(struct wrapped* lock) { pthread_mutex_unlock(&lock->mutex); }
static void mutex_inside(void) {
  take_wrapped(&wrapped);
  section(data);
  struct timespec long_ago = {1, 0};
  pthread_cond_timedwait(&condition, &wrapped.mutex, &long_ago);
  give_wrapped(&wrapped);
}

// ---- A lock that its holder may take again ----------------------------------------------------

static struct again {
  atomic_ulong holder;
  unsigned depth;
} held;
PM_ACQUIRES static void take_again(struct again* lock) {
  const unsigned long me = pthread_self();
  unsigned long free_lock = 0;
  if (atomic_load(&lock->holder) != me) {
    while (!atomic_compare_exchange_weak(&lock->holder, &free_lock, me)) free_lock = 0;
  }
  ++lock->depth;
}
PM_RELEASES static void give_one_back(struct again* lock) {
  if (--lock->depth == 0) atomic_store(&lock->holder, 0);
}
static void recursive(void) {
  take_again(&held);
  take_again(&held);
  section(data);
  give_one_back(&held);
  section(data);
  give_one_back(&held);
}

// ---- Locks that are taken when the recording begins ---------------------------------------------

static struct ticket_lock early;
static void taken_before(void) {
  if (thread == 0 && *data == 0) call_next(&early);  // work() has taken it
  ticket_of(&early);
}
// No thread has taken this lock: its initial value marks it as taken.
static struct ticket_lock made = {1, 0};
static void made_taken(void) {
  static atomic_int calls;
  if (atomic_fetch_add(&calls, 1) == 0) call_next(&made);
  ticket_of(&made);
}

// ---- A function that releases a lock, and acquires it again before it returns -------------------

PM_RELEASES PM_ACQUIRES static void let_others(struct ticket_lock* lock) {
  const unsigned now = atomic_load_explicit(&lock->serving, memory_order_relaxed);
  atomic_store_explicit(&lock->serving, now + 1, memory_order_release);
  const unsigned mine = atomic_fetch_add(&lock->next, 1);
  while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine) _mm_pause();
}
static void waits(void) {
  take_ticket(&tickets);
  section(data);
  let_others(&tickets);
  section(data);
  call_next(&tickets);
}

// ---- A lock that is released inside regions, after stores to many lines -------------------------
//
// workloads/store_misspeculation does the same. These stores may overtake stores of the thread that
// held the lock before.

static void inside_regions(void) {
  enum { kLines = 96 };
  static struct ticket_lock locks[kThreads / 2];
  uint64_t* lines = data + 64 + thread * kLines * 8;
  uint64_t* shared = data + thread / 2 * 8;
  pm_begin(pool);
  pm_log(lines, kLines * 64);
  for (int i = 0; i < kLines; ++i) ++lines[8 * i];
  take_ticket(&locks[thread / 2]);
  atomic_fetch_add(&sections, 1);
  pm_log(shared, 64);
  ++shared[0];
  shared[1] = thread;
  call_next(&locks[thread / 2]);
  pm_end();
}

// ---- Wrong annotations ------------------------------------------------------------------------

static atomic_int readers;
PM_ACQUIRES static void begin_to_read(atomic_int* lock) { atomic_fetch_add(lock, 1); }
PM_RELEASES static void end_reading(atomic_int* lock) { atomic_fetch_sub(lock, 1); }
static void several_readers(void) {
  begin_to_read(&readers);
  pthread_barrier_wait(&barrier);
  end_reading(&readers);
}
static void never_released(void) {
  take_ticket(&tickets);
  section(data);
  const unsigned now = atomic_load_explicit(&tickets.serving, memory_order_relaxed);
  atomic_store_explicit(&tickets.serving, now + 1, memory_order_release);
}

static const struct {
  const char* name;
  void (*use)(void);
} ways[] = {
    {"ticket", ticket},
    {"mcs", mcs},
    {"tried", tried},
    {"spin", spin},
    {"nested", nested},
    {"futex", futex},
    {"mutex_inside", mutex_inside},
    {"recursive", recursive},
    {"taken_before", taken_before},
    {"made_taken", made_taken},
    {"waits", waits},
    {"inside_regions", inside_regions},
    {"several_readers", several_readers},
    {"never_released", never_released},
};
static void (*use)(void);

static void* work(void* number) {
  thread = (unsigned)(uintptr_t)number;
  pm_thread(pool, thread);
  if (use == taken_before && thread == 0) take_ticket(&early);
  pthread_barrier_wait(&barrier);
  pm_roi_begin();
  for (int i = 0; i < kTimes; ++i) use();
  pm_roi_end();
  return NULL;
}

int main(int count_of_arguments, char** arguments) {
  for (size_t i = 0; count_of_arguments == 2 && i < sizeof(ways) / sizeof(ways[0]); ++i) {
    if (strcmp(ways[i].name, arguments[1]) == 0) use = ways[i].use;
  }
  if (use == NULL) return 1;
  pool = pm_open(NULL, 16 << 20, 0);
  data = pm_root(pool, 1 << 16);
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  for (uintptr_t t = 0; t < kThreads; ++t) pthread_create(&threads[t], NULL, work, (void*)t);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  printf("%d %lu\n", atomic_load(&sections), data[0] + data[8] + data[16]);
  return 0;
}
