/* claimed_blocks: two threads claim blocks of 1 KiB in 256 KiB with a shared counter, and add up
 * what they have claimed. An operation is one block. */
#include "measured.h"

#include <stdatomic.h>

enum { BLOCKS = 256, WORDS = 128 };

static uint64_t (*blocks)[WORDS];
static _Alignas(LINE_BYTES) atomic_uint_fast64_t claimed;
static _Alignas(LINE_BYTES) atomic_uint_fast64_t sum;

static void add_up(uint64_t end) {
  uint64_t mine = 0, block;
  while ((block = atomic_fetch_add(&claimed, 1)) < end) {
    for (int k = 0; k < WORDS; ++k) mine ^= blocks[block % BLOCKS][k] * 3 + block;
  }
  atomic_fetch_add(&sum, mine);
}

static void set_up(void) {
  blocks = volatile_memory(BLOCKS * sizeof *blocks);
  for (int i = 0; i < BLOCKS; ++i) {
    for (int k = 0; k < WORDS; ++k) blocks[i][k] = random_number();
  }
}

static void* help(void* nothing) {
  pin(1);
  add_up(options.operations);
  return nothing;
}

static void repeat(void) {
  pthread_t helper;
  atomic_store(&claimed, 0);
  if (pthread_create(&helper, NULL, help, NULL) != 0) fail("pthread_create");
  add_up(options.operations);
  pthread_join(helper, NULL);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
