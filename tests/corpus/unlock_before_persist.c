/* A counter's new value is made durable after the lock is released: what another thread makes
 * durable counts on it. */
#include "case.h"

enum { EACH = 3 };
struct pool {
  IN_LINE uint64_t count;
  IN_LINE uint64_t ticket[1 + 2 * EACH]; /* those that were taken are set */
};
static struct pool* shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* take(void* unused) {
  for (int i = 0; i < EACH; ++i) {
    pthread_mutex_lock(&lock);
    const uint64_t mine = ++shared->count;
    IF_FIXED(persist(&shared->count, sizeof shared->count);)
    pthread_mutex_unlock(&lock);
    IF_BUG(persist(&shared->count, sizeof shared->count);)
    shared->ticket[mine] = 1;
    persist(&shared->ticket[mine], sizeof shared->ticket[mine]);
  }
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, take, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  for (uint64_t i = 1; i <= 2 * EACH; ++i)
    if (pool->ticket[i] && i > pool->count) return wrong("a ticket that will be given out again");
  return 0;
}
