/* A write must be durable when it returns, but no fence follows the flush of the file's size. */
#define ANSWERS
#include "case.h"

enum { WRITES = 3 };
struct pool {
  IN_LINE uint64_t size;
  IN_LINE uint64_t bytes[WRITES];
};

OPERATION append(struct pool* pool, uint64_t value) {
  pool->bytes[pool->size] = value;
  persist(&pool->bytes[pool->size], sizeof pool->bytes[pool->size]);
  pool->size = pool->size + 1;
  flush(&pool->size, sizeof pool->size);
  IF_FIXED(fence();)
}

static void run(struct pool* pool) {
  for (uint64_t i = 1; i <= WRITES; ++i) append(pool, 10 * i);
}

static int check(struct pool* pool) {
  for (uint64_t i = 0; i < pool->size; ++i)
    if (pool->bytes[i] != 10 * (i + 1)) return wrong("the size is there, the data aren't");
  return 0;
}

static void answer(struct pool* pool) {
  for (uint64_t i = 0; i < pool->size; ++i) printf("%llu\n", (unsigned long long)pool->bytes[i]);
}
