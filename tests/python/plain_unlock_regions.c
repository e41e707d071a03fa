// Two threads write down items in atomic regions, under Peterson's lock of plain variables.
#include <immintrin.h>
#include <pthread.h>
#include <unistd.h>

#include "pmemsim/pm.h"

enum { ITEMS = 12 };

struct line {
  uint64_t value, padding[7];
};
struct root {
  struct line count, items[2 * ITEMS];
};

static pm_pool* pool;
static struct root* root;
static volatile int wants[2], turn;

static void take_lock(int self) {
  wants[self] = 1;
  turn = 1 - self;
  _mm_mfence();
  while (wants[1 - self] && turn == 1 - self) _mm_pause();
}
static void give_lock_back(int self) { wants[self] = 0; }

static void* write_items(void* argument) {
  const int self = (int)(uintptr_t)argument;
  for (int i = 0; i < ITEMS; ++i) {
    take_lock(self);
    pm_begin(pool);
    const uint64_t number = root->count.value;
    pm_log(&root->items[number], sizeof(struct line));
    pm_log(&root->count, sizeof(struct line));
    root->items[number].value = 3 * (number + 1);
    root->count.value = number + 1;
    pm_end();
    give_lock_back(self);
  }
  return NULL;
}

int main(int count, char** words) {
  if (count != 2) return 1;
  unlink(words[1]);
  pool = pm_open(words[1], 8 << 20, 0);
  if (pool == NULL) return 1;
  root = pm_root(pool, sizeof *root);
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, write_items, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return pm_close(pool);
}
