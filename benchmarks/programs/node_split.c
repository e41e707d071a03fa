/* node_split: inserts random keys into persistent sorted leaves of 512 bytes, as a B-tree does.
 * An insertion moves the greater keys up. A full leaf is split: its upper half is copied to a new
 * leaf. The program writes changed lines back and fences. An operation is one insertion. Each
 * repetition begins with empty leaves. */
#include "measured.h"

enum { KEYS = 62, LEAVES = 4096 };

typedef struct {
  uint64_t count, unused;
  uint64_t keys[KEYS];
} leaf;

static leaf* leaves;
static uint32_t by_key[LEAVES]; /* the leaves, in the order of their least keys */
static uint64_t least[LEAVES];
static uint32_t used;

static void persist(const void* from, uint64_t bytes) {
  const char* line = (const char*)((uintptr_t)from & ~(uintptr_t)(LINE_BYTES - 1));
  for (; line < (const char*)from + bytes; line += LINE_BYTES) flush(line);
}

static void set_up(void) { leaves = persistent_memory(LEAVES * sizeof(leaf)); }

static uint32_t place_of(uint64_t key) {
  uint32_t low = 0, high = used;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (least[middle] <= key) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

static void split(uint32_t place) {
  leaf* lower = &leaves[by_key[place]];
  leaf* upper = &leaves[used];
  const uint64_t half = KEYS / 2;
  memcpy(upper->keys, lower->keys + half, (KEYS - half) * sizeof(uint64_t));
  upper->count = KEYS - half;
  persist(upper, sizeof *upper);
  sfence();
  lower->count = half;
  persist(&lower->count, sizeof lower->count);
  sfence();
  memmove(by_key + place + 2, by_key + place + 1, (used - place - 1) * sizeof *by_key);
  memmove(least + place + 2, least + place + 1, (used - place - 1) * sizeof *least);
  by_key[place + 1] = used++;
  least[place + 1] = upper->keys[0];
}

static void insert(uint64_t key) {
  uint32_t place = place_of(key);
  if (leaves[by_key[place]].count == KEYS && used < LEAVES) {
    split(place);
    place = place_of(key);
  }
  leaf* chosen = &leaves[by_key[place]];
  uint64_t at = 0;
  while (at < chosen->count && chosen->keys[at] < key) ++at;
  memmove(chosen->keys + at + 1, chosen->keys + at, (chosen->count - at) * sizeof(uint64_t));
  chosen->keys[at] = key;
  ++chosen->count;
  persist(chosen->keys + at, (chosen->count - at) * sizeof(uint64_t));
  persist(&chosen->count, sizeof chosen->count);
  sfence();
}

static void repeat(void) {
  leaves[0].count = 0;
  by_key[0] = 0;
  least[0] = 0;
  used = 1;
  random_state = 1;
  for (uint64_t i = 0; i < options.operations; ++i) insert(random_number());
}

int main(int count, char** arguments) {
  const uint64_t most = (uint64_t)LEAVES * KEYS / 4; /* leaves are at least half full */
  if (count > 1 && strtoull(arguments[1], NULL, 10) > most) {
    fprintf(stderr, "takes at most %llu operations\n", (unsigned long long)most);
    return 2;
  }
  return measure(count - 1, arguments + 1);
}
