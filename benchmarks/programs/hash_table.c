/* hash_table: inserts random keys into a persistent table of 16 MiB, whose buckets are lines of
 * three pairs; a full bucket loses its oldest pair. The bucket is written back and fenced. An
 * operation is one insertion. */
#include "measured.h"

enum { PAIRS = 3 };

typedef struct {
  uint64_t inserted, unused;
  struct {
    uint64_t key, value;
  } pairs[PAIRS];
} bucket;

static bucket* buckets;
static uint64_t count;

static void set_up(void) {
  const uint64_t bytes = 16u << 20;
  buckets = persistent_memory(bytes);
  count = bytes / sizeof(bucket);
}

static void insert(uint64_t key, uint64_t value) {
  bucket* chosen = &buckets[(key * 0x9e3779b97f4a7c15u >> 32) % count];
  uint64_t slot = chosen->inserted % PAIRS;
  for (uint64_t i = 0; i < PAIRS; ++i) {
    if (chosen->pairs[i].key == key) slot = i;
  }
  chosen->pairs[slot].key = key;
  chosen->pairs[slot].value = value;
  ++chosen->inserted;
  flush(chosen);
  sfence();
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) insert(random_number(), i);
}

int main(int arguments, char** values) { return measure(arguments - 1, values + 1); }
