/* A block is given back before the pointer to it is gone. */
#include "case.h"

enum { BLOCKS = 8 };
struct pool {
  IN_LINE uint64_t used; /* a bit a block */
  IN_LINE uint64_t root; /* index + 1 */
};

static void run(struct pool* pool) {
  pool->used = 1;
  persist(&pool->used, sizeof pool->used);
  pool->root = 1;
  persist(&pool->root, sizeof pool->root);
  IF_BUG(pool->used = 0; persist(&pool->used, sizeof pool->used);)
  pool->root = 0;
  persist(&pool->root, sizeof pool->root);
  IF_FIXED(pool->used = 0; persist(&pool->used, sizeof pool->used);)
}

static int check(struct pool* pool) {
  if (pool->root == 0) return 0;
  return (pool->used >> (pool->root - 1) & 1) == 0 ? wrong("what is used counts as free") : 0;
}
