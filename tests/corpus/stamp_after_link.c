/* An item gets its version after it has been linked. A crash may leave an item without a version.
 */
#define ANSWERS
#include "case.h"

enum { ITEMS = 3 };
struct item {
  IN_LINE uint64_t value;
  uint64_t version; /* from 1 on */
};
struct pool {
  IN_LINE uint64_t linked[ITEMS]; /* an item's number, from 1 on */
  struct item items[1 + ITEMS];
};

OPERATION add(struct pool* pool, uint64_t number) {
  struct item* item = &pool->items[number];
  item->value = 100 + number;
  IF_FIXED(item->version = number;)
  persist(item, sizeof *item);
  pool->linked[number - 1] = number;
  persist(&pool->linked[number - 1], sizeof pool->linked[number - 1]);
  IF_BUG(item->version = number; persist(&item->version, sizeof item->version);)
}

static void run(struct pool* pool) {
  for (uint64_t number = 1; number <= ITEMS; ++number) add(pool, number);
}

static int check(struct pool* pool) {
  for (int i = 0; i < ITEMS; ++i) {
    const struct item* item = &pool->items[pool->linked[i]];
    if (pool->linked[i] && (item->value == 0 || item->version == 0))
      return wrong("an item has no version");
  }
  return 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; i < ITEMS; ++i) {
    const struct item* item = &pool->items[pool->linked[i]];
    if (pool->linked[i])
      printf("%llu, version %llu\n", (unsigned long long)item->value,
             (unsigned long long)item->version);
  }
}
