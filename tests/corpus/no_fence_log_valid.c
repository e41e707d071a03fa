/* No fence between a log entry and the flag that says it is there. */
#include "case.h"

struct pool {
  IN_LINE uint64_t old;
  IN_LINE uint64_t valid; /* the value that is being stored; 0: none */
  IN_LINE uint64_t data;
};

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 3; ++value) {
    pool->old = pool->data;
    flush(&pool->old, sizeof pool->old);
    IF_FIXED(fence();)
    pool->valid = value;
    persist(&pool->valid, sizeof pool->valid);
    pool->data = value;
    persist(&pool->data, sizeof pool->data);
    pool->valid = 0;
    persist(&pool->valid, sizeof pool->valid);
  }
}

static int check(struct pool* pool) {
  return pool->valid && pool->old != pool->valid - 1 ? wrong("the log would undo too much") : 0;
}
