/* Data and flag are taken to be in one line, where stores persist in order; they are in two. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE char unused[LINE - 8];
  IF_FIXED(char more[8];)
  uint64_t data;
  uint64_t valid;
};

static void run(struct pool* pool) {
  pool->data = 42;
  pool->valid = 1;
  persist(&pool->data, 2 * sizeof pool->data);
}

static int check(struct pool* pool) {
  return pool->valid && pool->data != 42 ? wrong("the flag is there, the data aren't") : 0;
}

static void answer(struct pool* pool) {
  if (pool->valid) printf("%llu\n", (unsigned long long)pool->data);
}
