/* Two threads store to one line; the one that flushes it hasn't seen the other's store. */
#include "case.h"

#include <stdatomic.h>

struct pool {
  IN_LINE uint64_t mine;
  uint64_t others;
  IN_LINE uint64_t both;
};
static struct pool* shared;
static atomic_int flushed, stored;

static void* first(void* unused) {
  shared->mine = 1;
  IF_BUG(persist(&shared->mine, sizeof shared->mine);)
  atomic_store_explicit(&flushed, 1, memory_order_release);
  while (!atomic_load_explicit(&stored, memory_order_acquire)) {
  }
  IF_FIXED(persist(&shared->mine, 2 * sizeof shared->mine);)
  shared->both = 1;
  persist(&shared->both, sizeof shared->both);
  return unused;
}

static void* second(void* unused) {
  while (!atomic_load_explicit(&flushed, memory_order_acquire)) {
  }
  shared->others = 1; /* the line is flushed by the first thread */
  atomic_store_explicit(&stored, 1, memory_order_release);
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  return pool->both && !(pool->mine && pool->others) ? wrong("one of both isn't there") : 0;
}
