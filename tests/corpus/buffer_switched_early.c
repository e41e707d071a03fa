/* Of two buffers the other one is declared current before its flush has been waited for. */
#define ANSWERS
#include "case.h"

struct buffer {
  IN_LINE uint64_t words[8]; /* all the same */
};
struct pool {
  IN_LINE uint64_t current;
  struct buffer buffers[2];
};

OPERATION set(struct pool* pool, uint64_t value) {
  struct buffer* next = &pool->buffers[!pool->current];
  for (int i = 0; i < 8; ++i) next->words[i] = value;
  flush(next, sizeof *next);
  IF_FIXED(fence();)
  pool->current = !pool->current;
  persist(&pool->current, sizeof pool->current);
}

static void run(struct pool* pool) {
  for (uint64_t value = 1; value <= 3; ++value) set(pool, value);
}

static int check(struct pool* pool) {
  const struct buffer* current = &pool->buffers[pool->current];
  for (int i = 1; i < 8; ++i)
    if (current->words[i] != current->words[0]) return wrong("the current buffer is torn");
  return 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; i < 8; ++i)
    printf("%llu\n", (unsigned long long)pool->buffers[pool->current].words[i]);
}
