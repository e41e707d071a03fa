/* A thread hands a value over before it is durable; who gets it makes something durable of it. */
#include "case.h"

struct pool {
  IN_LINE uint64_t source;
  IN_LINE uint64_t derived;
};
static struct pool* shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static int is_given;

static void* give(void* unused) {
  pthread_mutex_lock(&lock);
  shared->source = 21;
  IF_FIXED(persist(&shared->source, sizeof shared->source);)
  is_given = 1;
  pthread_cond_signal(&given);
  pthread_mutex_unlock(&lock);
  IF_BUG(persist(&shared->source, sizeof shared->source);)
  return unused;
}

static void* take(void* unused) {
  pthread_mutex_lock(&lock);
  while (!is_given) pthread_cond_wait(&given, &lock);
  const uint64_t taken = shared->source;
  pthread_mutex_unlock(&lock);
  shared->derived = 2 * taken;
  persist(&shared->derived, sizeof shared->derived);
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, take, NULL);
  pthread_create(&threads[1], NULL, give, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  return pool->derived != 2 * pool->source && pool->derived != 0 ? wrong("derived from nothing")
                                                                 : 0;
}
