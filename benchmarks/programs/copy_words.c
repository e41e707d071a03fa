/* copy_words: copies an array of 64 MiB into another, and counts the words that are zero. An
 * operation is 64 bytes of each array. */
#include "measured.h"

enum { BYTES = 64 << 20, WORDS = BYTES / sizeof(uint64_t), OF_LINE = LINE_BYTES / 8 };

static uint64_t *from, *to;
static uint64_t next, zeros;

static void set_up(void) {
  from = volatile_memory(BYTES);
  to = volatile_memory(BYTES);
  for (uint64_t i = 0; i < WORDS; ++i) from[i] = i % 5;
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    for (uint64_t k = next; k < next + OF_LINE; ++k) {
      to[k] = from[k];
      zeros += from[k] == 0;
    }
    next = (next + OF_LINE) % WORDS;
  }
  use(zeros);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
