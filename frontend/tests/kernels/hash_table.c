// A hash table with open addressing, and one with chains.
#include <stdint.h>
#include <stdio.h>

enum { SLOTS = 2048, ITEMS = 1200, BUCKETS = 256 };

typedef struct {
  uint64_t key, value;
} Slot;

typedef struct Item {
  struct Item* next;
  uint64_t key, value;
} Item;

static Slot slots[SLOTS];
static Item items[ITEMS];
static Item* buckets[BUCKETS];
static int used;

static uint64_t hash(uint64_t key) {
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdu;
  key ^= key >> 33;
  return key;
}

static Slot* slot_of(uint64_t key) {
  uint64_t at = hash(key) % SLOTS;
  while (slots[at].key != 0 && slots[at].key != key) at = (at + 1) % SLOTS;
  return &slots[at];
}

static void put(uint64_t key, uint64_t value) {
  Slot* slot = slot_of(key);
  slot->key = key;
  slot->value += value;
}

static Item* find(uint64_t key) {
  for (Item* item = buckets[hash(key) % BUCKETS]; item != 0; item = item->next) {
    if (item->key == key) return item;
  }
  return 0;
}

static void add(uint64_t key, uint64_t value) {
  Item* item = find(key);
  if (item == 0 && used < ITEMS) {
    item = &items[used++];
    item->key = key;
    item->next = buckets[hash(key) % BUCKETS];
    buckets[hash(key) % BUCKETS] = item;
  }
  if (item != 0) item->value ^= value;
}

static int take_out(uint64_t key) {
  for (Item** at = &buckets[hash(key) % BUCKETS]; *at != 0; at = &(*at)->next) {
    if ((*at)->key != key) continue;
    *at = (*at)->next;
    return 1;
  }
  return 0;
}

int main(void) {
  uint64_t sum = 0;
  for (uint64_t i = 1; i <= 3000; ++i) {
    put(i * i % 1201 + 1, i);
    add(i * 7 % 1193 + 1, i);
  }
  for (uint64_t key = 1; key < 2500; ++key) {
    sum += slot_of(key)->value;
    const Item* item = find(key);
    if (item != 0) sum ^= item->value;
    if (key % 3 == 0) sum += (uint64_t)take_out(key);
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
