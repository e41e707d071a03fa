/* An allocator's bit isn't flushed: after a crash the block is given out again, though it is used.
 */
#include "case.h"

enum { BLOCKS = 8 };
struct pool {
  IN_LINE uint64_t used; /* a bit a block */
  IN_LINE uint64_t root; /* index + 1 */
  struct {
    IN_LINE uint64_t value;
  } block[BLOCKS];
};

static uint64_t allocate(struct pool* pool) {
  const uint64_t index = (uint64_t)__builtin_ctzll(~pool->used);
  pool->used |= UINT64_C(1) << index;
  IF_FIXED(persist(&pool->used, sizeof pool->used);)
  return index;
}

static void run(struct pool* pool) {
  for (int i = 0; i < 3; ++i) {
    const uint64_t index = allocate(pool);
    pool->block[index].value = 1;
    persist(&pool->block[index], sizeof pool->block[index]);
    pool->root = index + 1;
    persist(&pool->root, sizeof pool->root);
  }
}

static int check(struct pool* pool) {
  if (pool->root == 0) return 0;
  return (pool->used >> (pool->root - 1) & 1) == 0 ? wrong("what is used counts as free") : 0;
}
