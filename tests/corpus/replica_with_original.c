/* A replica is there to repair a torn original. One fence orders the updates of both, so a crash
 * may tear both. */
#define ANSWERS
#include "case.h"

struct copy {
  IN_LINE uint64_t value;
  IN_LINE uint64_t checksum;
};
struct pool {
  struct copy original;
  struct copy replica;
};

static uint64_t sum_of(uint64_t value) { return 7 * value; }

static int is_valid(const struct copy* copy) { return copy->checksum == sum_of(copy->value); }

static void write_copy(struct copy* copy, uint64_t value) {
  copy->value = value;
  copy->checksum = sum_of(value);
  flush(copy, sizeof *copy);
}

OPERATION set(struct pool* pool, uint64_t value) {
  write_copy(&pool->original, value);
  IF_FIXED(fence();)
  write_copy(&pool->replica, value);
  fence();
}

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 3; ++value) set(pool, value);
}

static int check(struct pool* pool) {
  return !is_valid(&pool->original) && !is_valid(&pool->replica) ? wrong("both copies are torn")
                                                                 : 0;
}

static void answer(struct pool* pool) {
  const struct copy* valid = is_valid(&pool->original) ? &pool->original : &pool->replica;
  if (is_valid(valid)) printf("%llu\n", (unsigned long long)valid->value);
}
