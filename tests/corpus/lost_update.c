/* Two threads add to a durable counter without a lock; what each has done is counted, too. */
#include "case.h"

enum { EACH = 4 };
struct pool {
  IN_LINE uint64_t count;
  IN_LINE uint64_t finished;
};
static struct pool* shared;
IF_FIXED(static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;)

static void* add(void* unused) {
  for (int i = 0; i < EACH; ++i) {
    IF_FIXED(pthread_mutex_lock(&lock);)
    shared->count = shared->count + 1;
    persist(&shared->count, sizeof shared->count);
    IF_FIXED(pthread_mutex_unlock(&lock);)
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
  return pool->finished && pool->count != 2 * EACH ? wrong("an update is lost") : 0;
}
