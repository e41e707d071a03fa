/* A hash table's larger directory is published before its entries are durable. Another thread then
 * inserts a key into the segment that an entry leads to. */
#include "case.h"

#include <stdatomic.h>

enum { OLD = 1, NEW = 2, KEYS = 8 };
struct pool {
  IN_LINE _Atomic uint64_t size; /* of the directory */
  IN_LINE uint64_t entries[NEW]; /* segments; the first entry is 0 */
  IN_LINE uint64_t finished;
  IN_LINE uint64_t segments[NEW][KEYS]; /* each key plus 1 */
};

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static uint64_t* slot_of(struct pool* pool, uint64_t key) {
  return &pool->segments[pool->entries[key % atomic_load(&pool->size)]][key];
}

static void* enlarge(void* shared) {
  struct pool* pool = shared;
  pool->entries[1] = 1;
  IF_FIXED(persist(pool->entries, sizeof pool->entries);)
  atomic_store(&pool->size, NEW);
  IF_BUG(persist(pool->entries, sizeof pool->entries);)
  persist((void*)&pool->size, LINE);
  return NULL;
}

static void* insert(void* shared) {
  struct pool* pool = shared;
  for (uint64_t key = 0; key < KEYS; ++key) {
    uint64_t* slot = slot_of(pool, key);
    persist((void*)&pool->size, LINE); /* another thread may have changed it */
    set(slot, key + 1);
    set(&pool->finished, key + 1);
  }
  return NULL;
}

static void run(struct pool* pool) {
  atomic_store(&pool->size, OLD);
  persist((void*)&pool->size, LINE);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, insert, pool);
  pthread_create(&threads[1], NULL, enlarge, pool);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  for (uint64_t key = 0; key < pool->finished; ++key)
    if (*slot_of(pool, key) != key + 1 && pool->segments[0][key] != key + 1)
      return wrong("a key is lost");
  return 0;
}
