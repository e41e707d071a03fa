/* What a log protects is two lines, of which one isn't flushed before the log ends. */
#define ANSWERS
#include "case.h"

enum { WORDS = 9 };
struct pool {
  IN_LINE uint64_t old[WORDS];
  IN_LINE uint64_t valid;
  IN_LINE uint64_t data[WORDS]; /* all the same */
};

OPERATION set(struct pool* pool, uint64_t value) {
  memcpy(pool->old, pool->data, sizeof pool->old);
  persist(pool->old, sizeof pool->old);
  pool->valid = 1;
  persist(&pool->valid, sizeof pool->valid);
  for (int i = 0; i < WORDS; ++i) pool->data[i] = value;
  IF_BUG(persist(pool->data, LINE);)
  IF_FIXED(persist(pool->data, sizeof pool->data);)
  pool->valid = 0;
  persist(&pool->valid, sizeof pool->valid);
}

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 3; ++value) set(pool, value);
}

static int check(struct pool* pool) {
  const uint64_t* data = pool->valid ? pool->old : pool->data;
  for (int i = 1; i < WORDS; ++i)
    if (data[i] != data[0]) return wrong("the words aren't the same");
  return 0;
}

static void answer(struct pool* pool) {
  const uint64_t* data = pool->valid ? pool->old : pool->data;
  for (int i = 0; i < WORDS; ++i) printf("%llu\n", (unsigned long long)data[i]);
}
