/* A block leaves the free count before it is in use, and recovery releases it if it isn't in use.
 * If recovery crashes before it resets the block's state, it releases the block twice. */
#include "case.h"

enum { BLOCKS = 8 };
enum { NOTHING, TAKING, TAKEN };
struct pool {
  IN_LINE uint64_t blocks; /* 0 before there are any */
  IN_LINE uint64_t free;
  IN_LINE uint64_t used;
  IN_LINE uint64_t state;
  uint64_t free_before, used_before; /* unless it is NOTHING */
};

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static void take(struct pool* pool) {
  pool->free_before = pool->free;
  pool->used_before = pool->used;
  persist(&pool->free_before, 2 * sizeof pool->free_before);
  set(&pool->state, TAKING);
  set(&pool->free, pool->free - 1);
  set(&pool->state, TAKEN);
  set(&pool->used, pool->used + 1);
  set(&pool->state, NOTHING);
}

static void run(struct pool* pool) {
  set(&pool->free, BLOCKS);
  set(&pool->blocks, BLOCKS);
  take(pool);
  take(pool);
}

static int check(struct pool* pool) {
  if (pool->state == TAKING) set(&pool->free, pool->free_before);
  if (pool->state == TAKEN && pool->used == pool->used_before) {
    IF_BUG(set(&pool->free, pool->free + 1);)
    IF_FIXED(set(&pool->free, pool->free_before);)
  }
  set(&pool->state, NOTHING);
  if (pool->blocks == 0) return 0;
  return pool->free + pool->used != pool->blocks ? wrong("a block is lost, or there twice") : 0;
}
