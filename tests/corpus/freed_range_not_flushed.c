/* A transaction flushes its new blocks at its end, neighbours as one range. If it frees one block
 * of a range, it forgets the whole range. */
#define ANSWERS
#include "case.h"

enum { OBJECTS = 3 };
struct block {
  IN_LINE uint64_t value;
};
struct pool {
  IN_LINE uint64_t objects[OBJECTS]; /* offsets of blocks */
  struct block blocks[2 * OBJECTS];
};
static size_t blocks;       /* allocated so far */
static struct block* range; /* those of the transaction */
static size_t in_range;

static struct block* allocate(struct pool* pool, uint64_t value) {
  struct block* block = &pool->blocks[blocks++];
  block->value = value;
  if (in_range++ == 0) range = block;
  return block;
}

static void free_last(void) {
  IF_BUG(in_range = 0;)
  IF_FIXED(--in_range;)
}

OPERATION add(struct pool* pool, uint64_t number) {
  const struct block* block = allocate(pool, 100 + number);
  if (number == 1) {
    allocate(pool, 0);
    free_last();
  }
  if (in_range != 0) persist(range, in_range * sizeof *range);
  in_range = 0;
  pool->objects[number] = (uint64_t)((const char*)block - (const char*)pool);
  persist(&pool->objects[number], sizeof pool->objects[number]);
}

static void run(struct pool* pool) {
  for (uint64_t number = 0; number < OBJECTS; ++number) add(pool, number);
}

static uint64_t value_of(const struct pool* pool, uint64_t number) {
  return *(const uint64_t*)((const char*)pool + pool->objects[number]);
}

static int check(struct pool* pool) {
  for (uint64_t number = 0; number < OBJECTS; ++number)
    if (pool->objects[number] && value_of(pool, number) != 100 + number)
      return wrong("an object isn't there");
  return 0;
}

static void answer(struct pool* pool) {
  for (uint64_t number = 0; number < OBJECTS; ++number)
    if (pool->objects[number]) printf("%llu\n", (unsigned long long)value_of(pool, number));
}
