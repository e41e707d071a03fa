/* No fence between data and the flag that says they are there. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE uint64_t data;
  IN_LINE uint64_t valid;
};

static void run(struct pool* pool) {
  pool->data = 42;
  flush(&pool->data, sizeof pool->data);
  IF_FIXED(fence();)
  pool->valid = 1;
  persist(&pool->valid, sizeof pool->valid);
}

static int check(struct pool* pool) {
  return pool->valid && pool->data != 42 ? wrong("the flag is there, the data aren't") : 0;
}

static void answer(struct pool* pool) {
  if (pool->valid) printf("%llu\n", (unsigned long long)pool->data);
}
