/* A table is switched to a larger one before its entries are there. */
#include "case.h"

struct pool {
  IN_LINE uint64_t large; /* which table counts */
  IN_LINE uint64_t small_table[8];
  IN_LINE uint64_t large_table[16];
};

static void run(struct pool* pool) {
  for (uint64_t i = 0; i < 8; ++i) pool->small_table[i] = 100 + i;
  persist(pool->small_table, sizeof pool->small_table);
  for (uint64_t i = 0; i < 8; ++i) pool->large_table[2 * i] = pool->small_table[i];
  IF_FIXED(persist(pool->large_table, sizeof pool->large_table);)
  pool->large = 1;
  persist(&pool->large, sizeof pool->large);
  IF_BUG(persist(pool->large_table, sizeof pool->large_table);)
}

static int check(struct pool* pool) {
  for (uint64_t i = 0; pool->large && i < 8; ++i)
    if (pool->large_table[2 * i] != 100 + i) return wrong("the large table isn't complete");
  return 0;
}
