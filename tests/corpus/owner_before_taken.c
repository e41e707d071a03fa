/* A block gets its owner before it has durably left the free ones. */
#include "case.h"

enum { BLOCKS = 8 };
struct pool {
  IN_LINE uint64_t taken; /* blocks 1 to taken are out */
  IN_LINE uint64_t owner[1 + BLOCKS];
};

static void run(struct pool* pool) {
  for (uint64_t i = 1; i <= 4; ++i) {
    pool->taken = i;
    flush(&pool->taken, sizeof pool->taken);
    IF_FIXED(fence();)
    pool->owner[i] = 7;
    persist(&pool->owner[i], sizeof pool->owner[i]);
  }
}

static int check(struct pool* pool) {
  for (uint64_t i = 1; i <= BLOCKS; ++i)
    if (pool->owner[i] && i > pool->taken) return wrong("a block with an owner is free");
  return 0;
}
