/* A word that isn't aligned lies in two lines: it isn't stored as a whole. */
#include "case.h"

struct pool {
  IN_LINE char unused[LINE - 4];
  char across[8];
  IN_LINE uint64_t aligned;
};

static void run(struct pool* pool) {
  for (uint64_t i = 1; i <= 2; ++i) {
    const uint64_t value = i * UINT64_C(0x0101010101010101);
    IF_BUG(memcpy(pool->across, &value, sizeof value); persist(pool->across, sizeof value);)
    IF_FIXED(pool->aligned = value; persist(&pool->aligned, sizeof pool->aligned);)
  }
}

static int check(struct pool* pool) {
  uint64_t value;
  memcpy(&value, pool->across, sizeof value);
  if (pool->aligned) value = pool->aligned;
  return value != (value & 0xff) * UINT64_C(0x0101010101010101) ? wrong("the word is torn") : 0;
}
