/* One thread flushes its data, another one fences, and takes them for durable: a fence is for its
 * own thread's flushes. */
#include "case.h"

#include <stdatomic.h>

struct pool {
  IN_LINE uint64_t data;
  IN_LINE uint64_t valid;
};
static struct pool* shared;
static atomic_int flushed;

static void* store(void* unused) {
  shared->data = 42;
  flush(&shared->data, sizeof shared->data);
  IF_FIXED(fence();)
  /* A plain store: a locked instruction would be a fence. */
  atomic_store_explicit(&flushed, 1, memory_order_release);
  return unused;
}

static void* publish(void* unused) {
  while (!atomic_load_explicit(&flushed, memory_order_acquire)) {
  }
  fence();
  shared->valid = 1;
  persist(&shared->valid, sizeof shared->valid);
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, store, NULL);
  pthread_create(&threads[1], NULL, publish, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  return pool->valid && pool->data != 42 ? wrong("the flag is there, the data aren't") : 0;
}
