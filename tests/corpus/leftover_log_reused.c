/* A crash at the end of a transaction leaves a log whose first entry alone is cleared. Recovery
 * takes the log for empty, and the next transaction adds its entries to the old ones. */
#include "case.h"

enum { WORDS = 3 };
struct word {
  IN_LINE uint64_t value;
};
struct pool {
  struct word words[WORDS];
  struct word old[WORDS]; /* the log's values */
  struct word in_log[WORDS];
};

static void set(struct word* word, uint64_t value) {
  word->value = value;
  persist(word, sizeof *word);
}

static void clear(struct pool* pool) {
  for (int i = 0; i < WORDS; ++i)
    if (pool->in_log[i].value) set(&pool->in_log[i], 0);
}

static void update(struct pool* pool, int words, uint64_t value) {
  for (int i = 0; i < words; ++i) {
    set(&pool->old[i], pool->words[i].value);
    set(&pool->in_log[i], 1);
  }
  for (int i = 0; i < words; ++i) set(&pool->words[i], value);
  clear(pool);
}

static void run(struct pool* pool) { update(pool, WORDS, 1); }

static void recover(struct pool* pool) {
  IF_BUG(if (pool->in_log[0].value == 0) return;)
  for (int i = 0; pool->in_log[0].value && i < WORDS; ++i)
    if (pool->in_log[i].value) set(&pool->words[i], pool->old[i].value);
  clear(pool);
}

static int check(struct pool* pool) {
  recover(pool);
  if (pool->words[1].value != pool->words[2].value) return wrong("a word is older");
  const uint64_t finished = pool->words[2].value;
  update(pool, 1, 2); /* the program goes on */
  return pool->words[2].value != finished ? wrong("a finished update is undone") : 0;
}
