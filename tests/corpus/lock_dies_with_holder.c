/* A lock is in the line of the data that it protects, and becomes durable with them. After a crash,
 * no thread holds the lock and none can take it. */
#include "case.h"

#include <stdatomic.h>

enum { EACH = 3 };
struct pool {
  IN_LINE _Atomic uint64_t lock;
  uint64_t count;
  IN_LINE uint64_t finished;
};
static struct pool* shared;

static int take(struct pool* pool) {
  uint64_t expected = 0;
  return atomic_compare_exchange_strong(&pool->lock, &expected, 1);
}

static void* add(void* unused) {
  for (int i = 0; i < EACH; ++i) {
    while (!take(shared)) {
    }
    shared->count = shared->count + 1;
    persist(&shared->count, sizeof shared->count);
    atomic_store(&shared->lock, 0);
  }
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pool->finished = 1;
  persist(&pool->finished, sizeof pool->finished);
}

static int check(struct pool* pool) {
  IF_FIXED(atomic_store(&pool->lock, 0);) /* recovery knows that there are no threads */
  if (pool->finished && pool->count != 2 * EACH) return wrong("an update is lost");
  return !take(pool) ? wrong("the lock will never be free") : 0;
}
