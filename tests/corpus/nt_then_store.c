/* A line is stored past the caches, then a word of it again through them, without a flush. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE long long data[8];
  IN_LINE uint64_t valid;
};

static void run(struct pool* pool) {
  for (int i = 0; i < 8; ++i) _mm_stream_si64(&pool->data[i], 0);
  fence();
  pool->data[3] = 42;
  IF_FIXED(flush(&pool->data[3], sizeof pool->data[3]);)
  fence();
  pool->valid = 1;
  persist(&pool->valid, sizeof pool->valid);
}

static int check(struct pool* pool) {
  return pool->valid && pool->data[3] != 42 ? wrong("the flag is there, a word isn't") : 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; pool->valid && i < 8; ++i) printf("%lld\n", pool->data[i]);
}
