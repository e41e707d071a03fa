/* Recovery takes an amount off a balance again; crashed and run once more, it takes it off twice.
 */
#include "case.h"

enum { NOTHING, LOGGED, ADDED };
struct pool {
  IN_LINE uint64_t balance; /* 100, or 110 */
  IN_LINE uint64_t amount;
  uint64_t before;
  IN_LINE uint64_t state;
};

static void set_state(struct pool* pool, uint64_t state) {
  pool->state = state;
  persist(&pool->state, sizeof pool->state);
}

static void run(struct pool* pool) {
  pool->balance = 100;
  persist(&pool->balance, sizeof pool->balance);
  pool->amount = 10;
  pool->before = 100;
  persist(&pool->amount, 2 * sizeof pool->amount);
  set_state(pool, LOGGED);
  pool->balance += pool->amount;
  persist(&pool->balance, sizeof pool->balance);
  set_state(pool, ADDED);
  set_state(pool, NOTHING);
}

static int check(struct pool* pool) {
  if (pool->state == ADDED) {
    IF_BUG(pool->balance -= pool->amount;)
    IF_FIXED(pool->balance = pool->before;)
    persist(&pool->balance, sizeof pool->balance);
  }
  set_state(pool, NOTHING);
  const uint64_t balance = pool->balance;
  return balance != 0 && balance != 100 && balance != 110 ? wrong("the balance is wrong") : 0;
}
