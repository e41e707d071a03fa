/* Two words are published as one value; a crash may leave one of them. */
#include "case.h"

struct pair {
  IN_LINE uint64_t low;
  uint64_t high; /* high is low with all bits turned */
};
struct pool {
  struct pair pairs[2];
  IN_LINE uint64_t current; /* index + 1 */
};

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 3; ++value) {
    uint64_t next = 0;
    IF_FIXED(next = pool->current == 1;)
    pool->pairs[next].low = value;
    pool->pairs[next].high = ~value;
    persist(&pool->pairs[next], sizeof pool->pairs[next]);
    if (pool->current != next + 1) {
      pool->current = next + 1;
      persist(&pool->current, sizeof pool->current);
    }
  }
}

static int check(struct pool* pool) {
  if (pool->current == 0) return 0;
  const struct pair* pair = &pool->pairs[pool->current - 1];
  return pair->high != ~pair->low ? wrong("the value is torn") : 0;
}
