/* An object lies in two lines, since it isn't aligned; only the first is flushed. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE char unused[LINE - 8];
  uint64_t object[4]; /* one word in the first line, three in the next */
  IN_LINE uint64_t valid;
};

static void run(struct pool* pool) {
  for (uint64_t i = 0; i < 4; ++i) pool->object[i] = i + 1;
  IF_BUG(persist(pool->object, sizeof pool->object[0]);)
  IF_FIXED(persist(pool->object, sizeof pool->object);)
  pool->valid = 1;
  persist(&pool->valid, sizeof pool->valid);
}

static int check(struct pool* pool) {
  for (uint64_t i = 0; pool->valid && i < 4; ++i)
    if (pool->object[i] != i + 1) return wrong("the flag is there, the object isn't");
  return 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; pool->valid && i < 4; ++i) printf("%llu\n", (unsigned long long)pool->object[i]);
}
