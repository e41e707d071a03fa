/* linear_scan: adds up an array of 256 MiB, going on where the last repetition ended. An operation
 * is one line of eight numbers. `shuffled` takes the lines in random order, which no prefetcher can
 * foresee. */
#include "measured.h"

enum { NUMBERS = LINE_BYTES / sizeof(uint64_t) };

static uint64_t* numbers;
static uint32_t* order;
static uint32_t lines, next;

static void set_up(void) {
  lines = (256u << 20) / LINE_BYTES;
  numbers = volatile_memory((uint64_t)lines * LINE_BYTES);
  if (options.shuffled) order = random_order(lines);
}

static void repeat(void) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < options.operations; ++i) {
    const uint64_t* line = numbers + (uint64_t)(options.shuffled ? order[next] : next) * NUMBERS;
    for (int k = 0; k < NUMBERS; ++k) sum += line[k];
    if (++next == lines) next = 0;
  }
  use(sum);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
