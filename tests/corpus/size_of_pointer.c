/* Flushes as many bytes as a pointer has, not what it points to. */
#define ANSWERS
#include "case.h"

struct record {
  IN_LINE uint64_t words[16];
};
struct pool {
  struct record record;
  IN_LINE uint64_t valid;
};

static void run(struct pool* pool) {
  struct record* record = &pool->record;
  for (uint64_t i = 0; i < 16; ++i) record->words[i] = i + 1;
  IF_BUG(persist(record, sizeof record);)
  IF_FIXED(persist(record, sizeof *record);)
  pool->valid = 1;
  persist(&pool->valid, sizeof pool->valid);
}

static int check(struct pool* pool) {
  for (uint64_t i = 0; pool->valid && i < 16; ++i)
    if (pool->record.words[i] != i + 1) return wrong("the flag is there, the record isn't");
  return 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; pool->valid && i < 16; ++i)
    printf("%llu\n", (unsigned long long)pool->record.words[i]);
}
