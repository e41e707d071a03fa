/* Recovery finishes an interrupted truncation, which needs the volatile list of used blocks.
 * Recovery makes this list only afterwards. */
#include "case.h"

enum { BLOCKS = 3, FILES = 2 };
struct file {
  IN_LINE uint64_t block; /* from 1 on */
};
struct pool {
  struct file files[FILES];
  IN_LINE uint64_t truncated; /* a file to which that must still happen, from 1 on */
};
static int is_used[1 + BLOCKS];

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static int truncate_file(struct pool* pool, struct file* file) {
  if (file->block != 0 && !is_used[file->block]) return wrong("the block isn't used");
  is_used[file->block] = 0;
  set(&file->block, 0);
  set(&pool->truncated, 0);
  return 0;
}

static void create(struct file* file, uint64_t block) {
  is_used[block] = 1;
  set(&file->block, block);
}

static void run(struct pool* pool) {
  for (uint64_t i = 0; i < FILES; ++i) create(&pool->files[i], 1 + i);
  set(&pool->truncated, 1);
  truncate_file(pool, &pool->files[0]);
}

static int finish(struct pool* pool) {
  return pool->truncated == 0 ? 0 : truncate_file(pool, &pool->files[pool->truncated - 1]);
}

static void rebuild(const struct pool* pool) {
  for (int i = 0; i < FILES; ++i) is_used[pool->files[i].block] = 1;
}

static int check(struct pool* pool) {
  IF_BUG(const int status = finish(pool); rebuild(pool);)
  IF_FIXED(rebuild(pool); const int status = finish(pool);)
  return status;
}
