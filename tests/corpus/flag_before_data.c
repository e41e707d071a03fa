/* A flag says that data are there, and is made durable before them. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE uint64_t data;
  IN_LINE uint64_t valid;
};

static void run(struct pool* pool) {
  IF_BUG(pool->valid = 1; persist(&pool->valid, sizeof pool->valid);)
  pool->data = 42;
  persist(&pool->data, sizeof pool->data);
  IF_FIXED(pool->valid = 1; persist(&pool->valid, sizeof pool->valid);)
}

static int check(struct pool* pool) {
  return pool->valid && pool->data != 42 ? wrong("the flag is there, the data aren't") : 0;
}

static void answer(struct pool* pool) {
  if (pool->valid) printf("%llu\n", (unsigned long long)pool->data);
}
