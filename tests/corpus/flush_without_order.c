/* clflush is ordered with stores, clflushopt isn't: what was right with the one is wrong with the
 * other. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE uint64_t data;
  IN_LINE uint64_t valid;
};

__attribute__((target("clflushopt"))) static void write_back(void* line) {
  IF_BUG(__builtin_ia32_clflushopt(line);)
  IF_FIXED(_mm_clflush(line);)
}

static void run(struct pool* pool) {
  pool->data = 42;
  write_back(&pool->data);
  pool->valid = 1;
  write_back(&pool->valid);
  fence();
}

static int check(struct pool* pool) {
  return pool->valid && pool->data != 42 ? wrong("the flag is there, the data aren't") : 0;
}

static void answer(struct pool* pool) {
  if (pool->valid) printf("%llu\n", (unsigned long long)pool->data);
}
