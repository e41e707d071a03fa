/* Recovery replays a redo log and notes how far it has come, which is durable before what it has
 * replayed; crashed there, it goes on behind an entry that it has lost. */
#include "case.h"

enum { WORDS = 3 };
struct word {
  IN_LINE uint64_t value;
};
struct pool {
  struct word data[WORDS];
  struct word log[WORDS];
  IN_LINE uint64_t committed; /* the log's values are those that count */
  IN_LINE uint64_t replayed;  /* so many of them are in place */
};

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static void put(struct pool* pool, uint64_t i) { set(&pool->data[i].value, pool->log[i].value); }

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 2; ++value) {
    set(&pool->replayed, 0);
    for (int i = 0; i < WORDS; ++i) set(&pool->log[i].value, value);
    set(&pool->committed, 1);
    for (uint64_t i = 0; i < WORDS; ++i) put(pool, i);
    set(&pool->committed, 0);
  }
}

static void recover(struct pool* pool) {
  for (uint64_t i = pool->replayed; i < WORDS; ++i) {
    IF_FIXED(put(pool, i);)
    set(&pool->replayed, i + 1);
    IF_BUG(put(pool, i);)
  }
  set(&pool->committed, 0);
}

static int check(struct pool* pool) {
  if (pool->committed) recover(pool);
  for (int i = 1; i < WORDS; ++i)
    if (pool->data[i].value != pool->data[0].value) return wrong("some words are older");
  return 0;
}
