/* A pool says that it is initialised before its header is durable. */
#define ANSWERS
#include "case.h"

struct pool {
  IN_LINE uint64_t magic;
  IN_LINE uint64_t size;
  uint64_t version;
};

static void run(struct pool* pool) {
  pool->size = 4096;
  pool->version = 1;
  IF_BUG(pool->magic = 0x706d; flush(&pool->size, 2 * sizeof pool->size);
         flush(&pool->magic, sizeof pool->magic); fence();)
  IF_FIXED(persist(&pool->size, 2 * sizeof pool->size); pool->magic = 0x706d;
           persist(&pool->magic, sizeof pool->magic);)
}

static int check(struct pool* pool) {
  if (pool->magic != 0x706d) return 0; /* the program creates the pool again */
  return pool->size != 4096 || pool->version != 1 ? wrong("the header isn't there") : 0;
}

static void answer(struct pool* pool) {
  if (pool->magic != 0x706d) return;
  printf("%llu, %llu\n", (unsigned long long)pool->size, (unsigned long long)pool->version);
}
