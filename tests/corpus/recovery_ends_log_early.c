/* Recovery flushes what it restores and the end of the log, with one fence for both. */
#include "case.h"

struct pool {
  IN_LINE uint64_t left;
  IN_LINE uint64_t right; /* the same as `left` where no log is valid */
  IN_LINE uint64_t old;
  uint64_t valid;
};

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 3; ++value) {
    set(&pool->old, pool->left);
    set(&pool->valid, 1);
    set(&pool->left, value);
    set(&pool->right, value);
    set(&pool->valid, 0);
  }
}

static int check(struct pool* pool) {
  if (pool->valid) {
    pool->left = pool->right = pool->old;
    flush(&pool->left, sizeof pool->left);
    flush(&pool->right, sizeof pool->right);
    IF_FIXED(fence();)
    set(&pool->valid, 0);
  }
  return pool->left != pool->right ? wrong("left and right differ") : 0;
}
