/* A thread makes durable what it has computed from another thread's value, which isn't durable. */
#include "case.h"

struct pool {
  IN_LINE uint64_t source;
  IN_LINE uint64_t derived;
};
static struct pool* shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* produce(void* unused) {
  pthread_mutex_lock(&lock);
  shared->source = 21;
  IF_FIXED(persist(&shared->source, sizeof shared->source);)
  pthread_mutex_unlock(&lock);
  IF_BUG(persist(&shared->source, sizeof shared->source);)
  return unused;
}

static void* derive(void* unused) {
  for (int done = 0; !done;) {
    pthread_mutex_lock(&lock);
    if (shared->source != 0) {
      shared->derived = 2 * shared->source;
      persist(&shared->derived, sizeof shared->derived);
      done = 1;
    }
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, derive, NULL);
  pthread_create(&threads[1], NULL, produce, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  return pool->derived != 2 * pool->source && pool->derived != 0 ? wrong("derived from nothing")
                                                                 : 0;
}
