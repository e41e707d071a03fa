/* heap_replace: replaces the least number of a binary heap of 2,048 random numbers by a greater
 * one, which sinks to its place. An operation is one replacement. */
#include "measured.h"

enum { ENTRIES = 2048 };

static uint64_t heap[ENTRIES];

static void sink(uint64_t number) {
  uint64_t at = 0;
  for (;;) {
    uint64_t child = 2 * at + 1;
    if (child >= ENTRIES) break;
    if (child + 1 < ENTRIES && heap[child + 1] < heap[child]) ++child;
    if (heap[child] >= number) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = number;
}

static void set_up(void) {
  for (int i = 0; i < ENTRIES; ++i) heap[i] = (uint64_t)i * 1000; /* in order is a heap, too */
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    sink(heap[0] + random_number() % (1000 * ENTRIES));
  }
  use(heap[0]);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
