/* A queue's producer persists the second line of a message after it has published the message. The
 * consumer may have taken the message before. */
#include "case.h"

#include <stdatomic.h>

enum { MESSAGES = 3, LINES = 2 };
struct line {
  IN_LINE uint64_t text;
};
struct pool {
  IN_LINE _Atomic uint64_t published;
  IN_LINE uint64_t taken;
  struct line messages[MESSAGES][LINES];
};
static struct pool* shared;

static void* produce(void* unused) {
  for (uint64_t i = 0; i < MESSAGES; ++i) {
    struct line* message = shared->messages[i];
    for (uint64_t line = 0; line < LINES; ++line) message[line].text = 10 * (i + 1) + line;
    persist(&message[0], LINE);
    IF_FIXED(persist(&message[1], LINE);)
    atomic_store_explicit(&shared->published, i + 1, memory_order_release);
    persist((void*)&shared->published, sizeof shared->published);
    IF_BUG(persist(&message[1], LINE);)
  }
  return unused;
}

static void* consume(void* unused) {
  for (uint64_t i = 0; i < MESSAGES; ++i) {
    while (atomic_load_explicit(&shared->published, memory_order_acquire) <= i) {
    }
    shared->taken = i + 1;
    persist(&shared->taken, sizeof shared->taken);
  }
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, consume, NULL);
  pthread_create(&threads[1], NULL, produce, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  const uint64_t published = atomic_load(&pool->published);
  const uint64_t there = published > pool->taken ? published : pool->taken;
  for (uint64_t i = 0; i < there; ++i)
    for (uint64_t line = 0; line < LINES; ++line)
      if (pool->messages[i][line].text != 10 * (i + 1) + line) return wrong("half a message");
  return 0;
}
