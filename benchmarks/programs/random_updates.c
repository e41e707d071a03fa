/* random_updates: writes whole lines of 64 bytes at random places of 64 MiB of persistent memory,
 * past the caches, and fences each. An operation is one line. */
#include "measured.h"

enum { NUMBERS = LINE_BYTES / sizeof(uint64_t) };

static uint64_t* numbers;
static uint64_t lines;

static void set_up(void) {
  const uint64_t bytes = 64u << 20;
  numbers = persistent_memory(bytes);
  lines = bytes / LINE_BYTES;
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    uint64_t* line = numbers + random_number() % lines * NUMBERS;
    for (int k = 0; k < NUMBERS; ++k) store_past_caches(line + k, i);
    sfence();
  }
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
