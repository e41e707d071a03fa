/* Money goes from one account to another, each in a line of its own, without a log. */
#define ANSWERS
#include "case.h"

enum { TOTAL = 100 };
struct pool {
  IN_LINE uint64_t from;
  uint64_t moved;
  IN_LINE uint64_t to;
  IN_LINE uint64_t old_from;
  uint64_t old_to, logged;
};

OPERATION transfer(struct pool* pool, uint64_t amount) {
  IF_FIXED(pool->old_from = pool->from; pool->old_to = pool->to;
           persist(&pool->old_from, 2 * sizeof pool->old_from); pool->logged = 1;
           persist(&pool->logged, sizeof pool->logged);)
  pool->from -= amount;
  pool->to += amount;
  flush(&pool->from, sizeof pool->from);
  flush(&pool->to, sizeof pool->to);
  fence();
  IF_FIXED(pool->logged = 0; persist(&pool->logged, sizeof pool->logged);)
}

static void run(struct pool* pool) {
  pool->from = TOTAL;
  persist(&pool->from, sizeof pool->from);
  pool->moved = 1; /* from now on there is money */
  persist(&pool->moved, sizeof pool->moved);
  transfer(pool, 10);
  transfer(pool, 20);
}

static int check(struct pool* pool) {
  const uint64_t from = pool->logged ? pool->old_from : pool->from;
  const uint64_t to = pool->logged ? pool->old_to : pool->to;
  return pool->moved && from + to != TOTAL ? wrong("money is lost or made") : 0;
}

static void answer(struct pool* pool) {
  const uint64_t from = pool->logged ? pool->old_from : pool->from;
  const uint64_t to = pool->logged ? pool->old_to : pool->to;
  if (pool->moved) printf("%llu, %llu\n", (unsigned long long)from, (unsigned long long)to);
}
