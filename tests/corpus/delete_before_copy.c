/* An entry moves to another slot: it is deleted here before it is durable there. */
#include "case.h"

struct pool {
  IN_LINE uint64_t started;
  IN_LINE uint64_t here;
  IN_LINE uint64_t there;
};

static void run(struct pool* pool) {
  pool->here = 42;
  persist(&pool->here, sizeof pool->here);
  pool->started = 1;
  persist(&pool->started, sizeof pool->started);
  pool->there = 42;
  IF_FIXED(persist(&pool->there, sizeof pool->there);)
  pool->here = 0;
  persist(&pool->here, sizeof pool->here);
  IF_BUG(persist(&pool->there, sizeof pool->there);)
}

static int check(struct pool* pool) {
  return pool->started && pool->here != 42 && pool->there != 42 ? wrong("the entry is lost") : 0;
}
