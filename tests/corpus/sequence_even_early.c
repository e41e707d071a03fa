/* A seqlock's writer makes the sequence even and ends its undo log before the data are durable.
 * Readers have seen all data then, but a crash may leave half of them. */
#include "case.h"

#include <stdatomic.h>

enum { WRITES = 4 };
struct pool {
  IN_LINE _Atomic uint64_t sequence; /* odd while the data change */
  IN_LINE volatile uint64_t half;
  IN_LINE volatile uint64_t whole; /* twice the half */
  IN_LINE uint64_t log;            /* the old half plus 1, or 0 */
};

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static void* write_all(void* shared) {
  struct pool* pool = shared;
  for (uint64_t i = 1; i <= WRITES; ++i) {
    set(&pool->log, pool->half + 1);
    atomic_fetch_add(&pool->sequence, 1);
    pool->half = i;
    pool->whole = 2 * i;
    IF_FIXED(persist((void*)&pool->half, 2 * LINE);)
    atomic_fetch_add(&pool->sequence, 1);
    set(&pool->log, 0);
    IF_BUG(persist((void*)&pool->half, 2 * LINE);)
  }
  return NULL;
}

static void* read_all(void* shared) {
  struct pool* pool = shared;
  for (uint64_t seen = 0; seen != WRITES;) {
    const uint64_t before = atomic_load(&pool->sequence);
    const uint64_t half = pool->half, whole = pool->whole;
    if (before % 2 == 1 || before != atomic_load(&pool->sequence)) continue;
    if (whole != 2 * half) abort();
    seen = half;
  }
  return NULL;
}

static void run(struct pool* pool) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, read_all, pool);
  pthread_create(&threads[1], NULL, write_all, pool);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  if (pool->log != 0) {
    pool->half = pool->log - 1;
    pool->whole = 2 * pool->half;
    persist((void*)&pool->half, 2 * LINE);
    set(&pool->log, 0);
  }
  return pool->whole != 2 * pool->half ? wrong("one half of a pair is older") : 0;
}
