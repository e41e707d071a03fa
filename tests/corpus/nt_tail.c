/* A copy stores whole lines past the caches, and the rest through them, without a flush. */
#define ANSWERS
#include "case.h"

enum { BYTES = 72 };
struct pool {
  IN_LINE char data[2 * LINE];
  IN_LINE uint64_t valid;
};

static void copy(char* to, const char* from) {
  size_t at = 0;
  for (; at + LINE <= BYTES; at += LINE)
    for (int i = 0; i < LINE; i += 8)
      _mm_stream_si64((long long*)(to + at + i), *(const long long*)(from + at + i));
  memcpy(to + at, from + at, BYTES - at);
  IF_FIXED(flush(to + at, BYTES - at);)
  fence();
}

static void run(struct pool* pool) {
  _Alignas(8) char source[BYTES];
  memset(source, 'x', sizeof source);
  copy(pool->data, source);
  pool->valid = 1;
  persist(&pool->valid, sizeof pool->valid);
}

static int check(struct pool* pool) {
  for (int i = 0; pool->valid && i < BYTES; ++i)
    if (pool->data[i] != 'x') return wrong("the flag is there, the data aren't");
  return 0;
}

static void answer(struct pool* pool) {
  if (pool->valid) printf("%.*s\n", BYTES, pool->data);
}
