/* triad: a[i] = b[i] + 3 * c[i] over three arrays of 32 MiB, which are longer than most caches. An
 * operation is 64 bytes of each array. */
#include "measured.h"

static double *a, *b, *c;
static uint64_t next;

enum { BYTES = 32 << 20, OF_LINE = LINE_BYTES / sizeof(double) };

static void set_up(void) {
  a = volatile_memory(BYTES);
  b = volatile_memory(BYTES);
  c = volatile_memory(BYTES);
  for (uint64_t i = 0; i < BYTES / sizeof(double); ++i) b[i] = c[i] = (double)i;
}

static void repeat(void) {
  uint64_t left = options.operations * OF_LINE;
  while (left > 0) {
    const uint64_t end = BYTES / sizeof(double);
    const uint64_t part = left < end - next ? left : end - next;
    for (uint64_t i = next; i < next + part; ++i) a[i] = b[i] + 3 * c[i];
    left -= part;
    next = (next + part) % end;
  }
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
