/* A table is freed, and the pointer to it is cleared but not flushed. After a crash, the table is
 * freed again, although its block has a new owner. */
#include "case.h"

enum { BLOCKS = 4 };
struct pool {
  IN_LINE uint64_t used[BLOCKS];
  IN_LINE uint64_t oldest; /* the old table's block, from 1 on */
  IN_LINE uint64_t file;   /* a block, from 1 on */
};

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static void collect(struct pool* pool) {
  if (pool->oldest == 0) return;
  const uint64_t block = pool->oldest;
  IF_FIXED(set(&pool->oldest, 0);)
  set(&pool->used[block - 1], 0);
  IF_BUG(pool->oldest = 0;)
}

static uint64_t allocate(struct pool* pool) {
  uint64_t block = 1;
  while (pool->used[block - 1]) ++block;
  set(&pool->used[block - 1], 1);
  return block;
}

static void run(struct pool* pool) {
  set(&pool->oldest, allocate(pool));
  collect(pool);
  set(&pool->file, allocate(pool));
}

static int check(struct pool* pool) {
  collect(pool);
  return pool->file && !pool->used[pool->file - 1] ? wrong("a file's block is free") : 0;
}
