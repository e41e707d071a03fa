/* A large transaction's undo log has a second part, which the end of the transaction doesn't clear.
 * Recovery of the next transaction undoes these old entries, too. */
#define ANSWERS
#include "case.h"

enum { WORDS = 4, FIRST_PART = 2 };
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

static void clear(struct pool* pool, int entries) {
  for (int i = 0; i < entries; ++i)
    if (pool->in_log[i].value) set(&pool->in_log[i], 0);
}

OPERATION update(struct pool* pool, int words, uint64_t value) {
  for (int i = 0; i < words; ++i) {
    set(&pool->old[i], pool->words[i].value);
    set(&pool->in_log[i], 1);
  }
  for (int i = 0; i < words; ++i) set(&pool->words[i], value);
  clear(pool, IF_BUG(FIRST_PART) IF_FIXED(WORDS));
}

static void run(struct pool* pool) {
  update(pool, WORDS, 1);
  update(pool, 1, 2);
}

static void recover(struct pool* pool) {
  for (int i = 0; pool->in_log[0].value && i < WORDS; ++i)
    if (pool->in_log[i].value) set(&pool->words[i], pool->old[i].value);
  clear(pool, WORDS);
}

static int check(struct pool* pool) {
  recover(pool);
  return pool->words[1].value != pool->words[WORDS - 1].value ? wrong("a word is older") : 0;
}

static void answer(struct pool* pool) {
  recover(pool);
  for (int i = 0; i < WORDS; ++i) printf("%llu\n", (unsigned long long)pool->words[i].value);
}
