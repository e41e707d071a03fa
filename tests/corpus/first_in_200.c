/* Of 200 updates, which are counted in twenties, one doesn't flush. */
#define ANSWERS
#include "case.h"

enum { UPDATES = 200, TOGETHER = 20, FORGOTTEN = 7 * TOGETHER - 1 };
struct pool {
  IN_LINE uint64_t count;
  IN_LINE uint64_t item[UPDATES];
};

OPERATION update(struct pool* pool, uint64_t first) {
  for (uint64_t i = first; i < first + TOGETHER; ++i) {
    pool->item[i] = i + 1;
    IF_BUG(if (i != FORGOTTEN)) flush(&pool->item[i], sizeof pool->item[i]);
    fence();
  }
  pool->count = first + TOGETHER;
  persist(&pool->count, sizeof pool->count);
}

static void run(struct pool* pool) {
  for (uint64_t first = 0; first < UPDATES; first += TOGETHER) update(pool, first);
}

static int check(struct pool* pool) {
  for (uint64_t i = 0; i < pool->count; ++i)
    if (pool->item[i] != i + 1) return wrong("an item isn't there");
  return 0;
}

static void answer(struct pool* pool) {
  for (uint64_t i = 0; i < pool->count && i < UPDATES; ++i)
    printf("%llu\n", (unsigned long long)pool->item[i]);
}
