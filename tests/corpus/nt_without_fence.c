/* Data are stored past the caches, and nothing orders them before the flag. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE long long data[8];
  IN_LINE uint64_t valid;
};

static void run(struct pool* pool) {
  for (int i = 0; i < 8; ++i) _mm_stream_si64(&pool->data[i], 42);
  IF_FIXED(fence();)
  pool->valid = 1;
  persist(&pool->valid, sizeof pool->valid);
}

static int check(struct pool* pool) {
  for (int i = 0; pool->valid && i < 8; ++i)
    if (pool->data[i] != 42) return wrong("the flag is there, the data aren't");
  return 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; pool->valid && i < 8; ++i) printf("%lld\n", pool->data[i]);
}
