/* Of 200 updates, which are counted in twenties, one doesn't flush. */
#include "case.h"

enum { UPDATES = 200, TOGETHER = 20, FORGOTTEN = 7 * TOGETHER - 1 };
struct pool {
  IN_LINE uint64_t count;
  IN_LINE uint64_t item[UPDATES];
};

static void run(struct pool* pool) {
  for (uint64_t i = 0; i < UPDATES; ++i) {
    pool->item[i] = i + 1;
    IF_BUG(if (i != FORGOTTEN)) flush(&pool->item[i], sizeof pool->item[i]);
    fence();
    if ((i + 1) % TOGETHER != 0) continue;
    pool->count = i + 1;
    persist(&pool->count, sizeof pool->count);
  }
}

static int check(struct pool* pool) {
  for (uint64_t i = 0; i < pool->count; ++i)
    if (pool->item[i] != i + 1) return wrong("an item isn't there");
  return 0;
}
