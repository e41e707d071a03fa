/* The log is declared over before what it protects is durable. */
#include "case.h"

struct pool {
  IN_LINE uint64_t old[2];
  uint64_t valid;
  IN_LINE uint64_t first;
  IN_LINE uint64_t second; /* the same as the first */
};

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 2; ++value) {
    pool->old[0] = pool->first;
    pool->old[1] = pool->second;
    persist(pool->old, sizeof pool->old);
    pool->valid = 1;
    persist(&pool->valid, sizeof pool->valid);
    pool->first = value;
    pool->second = value;
    flush(&pool->first, sizeof pool->first);
    flush(&pool->second, sizeof pool->second);
    IF_FIXED(fence();)
    pool->valid = 0;
    persist(&pool->valid, sizeof pool->valid);
  }
}

static int check(struct pool* pool) {
  const uint64_t first = pool->valid ? pool->old[0] : pool->first;
  const uint64_t second = pool->valid ? pool->old[1] : pool->second;
  return first != second ? wrong("the two differ") : 0;
}
