/* A log entry is flushed with its flag, in one fence: only a checksum could tell that it is whole.
 */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE uint64_t entry[8];
  IN_LINE uint64_t length;
  uint64_t sum;
};

static uint64_t sum_of(const struct pool* pool) {
  uint64_t sum = 1;
  for (int i = 0; i < 8; ++i) sum = sum * 31 + pool->entry[i];
  return sum;
}

static void run(struct pool* pool) {
  for (uint64_t i = 0; i < 8; ++i) pool->entry[i] = 10 + i;
  pool->length = 8;
  pool->sum = sum_of(pool);
  persist(pool, 2 * LINE);
}

static int check(struct pool* pool) {
  if (pool->length == 0) return 0;
  IF_FIXED(if (pool->sum != sum_of(pool)) return 0;) /* it was never complete */
  for (uint64_t i = 0; i < 8; ++i)
    if (pool->entry[i] != 10 + i) return wrong("the entry isn't whole");
  return 0;
}

static void answer(struct pool* pool) {
  if (pool->length == 0) return;
  IF_FIXED(if (pool->sum != sum_of(pool)) return;)
  for (int i = 0; i < 8; ++i) printf("%llu\n", (unsigned long long)pool->entry[i]);
}
