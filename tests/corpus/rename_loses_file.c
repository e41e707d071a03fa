/* A file takes the name of another file: both entries are removed before the new one is stored. A
 * crash in between loses the file. */
#define ANSWERS
#include "case.h"

enum { NAMES = 2 };
struct entry {
  IN_LINE uint64_t file; /* 0: no file has this name */
};
struct pool {
  struct entry entries[NAMES];
  IN_LINE uint64_t moved; /* what the journal says is to be done */
  uint64_t journalled;
};

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static void move(struct pool* pool, uint64_t file) {
  set(&pool->entries[0].file, file);
  set(&pool->entries[1].file, 0);
}

OPERATION rename_second(struct pool* pool) {
  const uint64_t file = pool->entries[1].file;
  IF_BUG(set(&pool->entries[0].file, 0); set(&pool->entries[1].file, 0);
         set(&pool->entries[0].file, file);)
  IF_FIXED(set(&pool->moved, file); set(&pool->journalled, 1); move(pool, file);
           set(&pool->journalled, 0);)
}

static void run(struct pool* pool) {
  for (uint64_t file = 1; file <= NAMES; ++file) set(&pool->entries[file - 1].file, file);
  rename_second(pool);
}

static void recover(struct pool* pool) {
  if (pool->journalled == 0) return;
  move(pool, pool->moved);
  set(&pool->journalled, 0);
}

static int check(struct pool* pool) {
  recover(pool);
  return pool->entries[1].file && pool->entries[0].file == 0 ? wrong("a file is lost") : 0;
}

static void answer(struct pool* pool) {
  recover(pool);
  for (int i = 0; i < NAMES; ++i)
    printf("%c: %llu\n", 'a' + i, (unsigned long long)pool->entries[i].file);
}
