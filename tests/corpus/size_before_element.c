/* An array's size counts an element that isn't there yet. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE uint64_t size;
  IN_LINE uint64_t element[16];
};

OPERATION append(struct pool* pool, uint64_t i) {
  IF_BUG(pool->size = i + 1; persist(&pool->size, sizeof pool->size);)
  pool->element[i] = 100 + i;
  persist(&pool->element[i], sizeof pool->element[i]);
  IF_FIXED(pool->size = i + 1; persist(&pool->size, sizeof pool->size);)
}

static void run(struct pool* pool) {
  for (uint64_t i = 0; i < 12; ++i) append(pool, i);
}

static int check(struct pool* pool) {
  for (uint64_t i = 0; i < pool->size; ++i)
    if (pool->element[i] != 100 + i) return wrong("an element isn't there");
  return 0;
}

static void answer(struct pool* pool) {
  for (uint64_t i = 0; i < pool->size; ++i) printf("%llu\n", (unsigned long long)pool->element[i]);
}
