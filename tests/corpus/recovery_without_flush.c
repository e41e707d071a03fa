/* Recovery copies the log's value back and ends the log without a flush of what it has copied. */
#include "case.h"

struct pool {
  IN_LINE uint64_t data[8];
  IN_LINE uint64_t old;
  uint64_t valid;
  IN_LINE uint64_t copy[8]; /* the same as the data where no log is valid */
};

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 2; ++value) {
    pool->old = pool->data[0];
    persist(&pool->old, sizeof pool->old);
    pool->valid = 1;
    persist(&pool->valid, sizeof pool->valid);
    pool->data[0] = value;
    persist(pool->data, sizeof pool->data);
    pool->copy[0] = value;
    persist(pool->copy, sizeof pool->copy);
    pool->valid = 0;
    persist(&pool->valid, sizeof pool->valid);
  }
}

static int check(struct pool* pool) {
  if (pool->valid) {
    pool->data[0] = pool->copy[0] = pool->old;
    IF_FIXED(persist(pool->data, sizeof pool->data); persist(pool->copy, sizeof pool->copy);)
    pool->valid = 0;
    persist(&pool->valid, sizeof pool->valid);
  }
  return pool->data[0] != pool->copy[0] ? wrong("data and copy differ") : 0;
}
