/* Hints as they should be, and five misuses of them, each on a line that names its kind. */
#include "pmemsim/pm.h"

struct item {
  uint64_t value;
  char rest[56];
};

/* Waits until all earlier flushes, and operations that a hint started, are done. */
static void wait(void) {
  for (volatile int i = 0; i < 4000; ++i) {
  }
}

static void write_back(struct item* item, uint64_t value) {
  item->value = value;
  pm_flush(item, sizeof *item); /* missing hint, unless the caller gave one */
  pm_durable();
}

static void hint(struct item* item, uint64_t value) {
  pm_pre object;
  pm_pre_init(&object);
  pm_pre_both(&object, item, &value, sizeof value); /* good */
}

int main(void) {
  pm_pool* pool = pm_open(0, 8 << 20, 0);
  struct item* items = pm_root(pool, 10 * sizeof *items);
  pm_pre object;
  const uint64_t one = 1;
  pm_roi_begin();
  struct item* block = pm_alloc(pool, sizeof *block);

  hint(&items[1], 5);
  wait();
  write_back(&items[1], 5);

  pm_pre_init(&object);
  pm_pre_both(&object, &items[3], &one, sizeof one); /* useless */

  pm_pre_init(&object);
  pm_pre_both(&object, &items[5], &one, sizeof one); /* invalidated */
  wait();
  write_back(&items[5], 2);

  pm_pre_init(&object);
  pm_pre_both(&object, block, &one, sizeof one); /* freed */
  wait();
  pm_free(pool, block);
  wait();

  pm_pre_init(&object);
  pm_pre_both(&object, &items[7], &one, sizeof one); /* too_short */
  write_back(&items[7], one);

  write_back(&items[9], 3);
  pm_roi_end();
  return 0;
}
