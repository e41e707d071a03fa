/* A log's first entry is stored as the tail and then as the head, in one line. A crash may leave
 * the tail alone, and recovery then begins at no entry. */
#define ANSWERS
#include "case.h"

#include <stdatomic.h>

enum { ENTRIES = 4 };
struct entry {
  IN_LINE uint64_t value;
};
struct pool {
  IN_LINE _Atomic uint64_t head; /* the first entry's number, from 1 on */
  _Atomic uint64_t tail;         /* the number after the last one */
  struct entry entries[1 + ENTRIES];
};

static void put(_Atomic uint64_t* word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_release);
}

OPERATION append(struct pool* pool, uint64_t value) {
  const uint64_t number = pool->tail ? pool->tail : 1;
  pool->entries[number].value = value;
  persist(&pool->entries[number], sizeof pool->entries[number]);
  IF_FIXED(if (number == 1) put(&pool->head, number);)
  put(&pool->tail, number + 1);
  IF_BUG(if (number == 1) put(&pool->head, number);)
  persist(pool, LINE);
}

static void run(struct pool* pool) {
  for (uint64_t i = 1; i <= ENTRIES; ++i) append(pool, 10 * i);
}

static int check(struct pool* pool) {
  if (pool->tail == 0) return 0;
  for (uint64_t number = pool->head; number < pool->tail; ++number)
    if (pool->entries[number].value != 10 * number || number == 0)
      return wrong("the log begins nowhere");
  return 0;
}

static void answer(struct pool* pool) {
  for (uint64_t number = pool->head; number < pool->tail; ++number)
    printf("%llu\n", (unsigned long long)pool->entries[number].value);
}
