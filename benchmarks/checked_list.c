// A list of 65,535 nodes in a pool of 8 MiB. The order of the nodes in the pool differs from the
// list's order. checks.py measures how fast the checker accepts or rejects images of the pool.
// The recording contains the insertions without the set-up.
// `checked_list FILE` is the checker, which walks the list; compiled with LIBRARY it is one for
// --verify-library, with LOOKS as well one that only looks at the list's head.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 8 << 20, NODES = 65535, INSERTED = 5000, APART = 7919 };

struct node {
  uint64_t next, key, value, check, padding[4];
};
struct pool {
  uint64_t head, count, padding[6];
  struct node nodes[NODES];
};

// Pointers are addresses; the pool was at `base`.
static int walk(const struct pool* pool, uint64_t base) {
  uint64_t nodes = 0;
  for (uint64_t at = pool->head; at != 0; ++nodes) {
    if (at - base >= sizeof(*pool)) {
      printf("a pointer leads to %#lx\n", (unsigned long)at);
      return 1;
    }
    const struct node* node = (const struct node*)((const char*)pool + (at - base));
    if (node->check != (node->key ^ node->value)) {
      printf("node %lu is damaged\n", (unsigned long)node->key);
      return 1;
    }
    at = node->next;
  }
  if (nodes >= pool->count) return 0;
  printf("%lu nodes of %lu\n", (unsigned long)nodes, (unsigned long)pool->count);
  return 1;
}

#ifdef LIBRARY
#include <pmemsim/check.h>

int pmemsim_check(const struct pmemsim_region* regions, size_t count) {
  if (count != 1) return 1;
#ifdef LOOKS
  return ((const struct pool*)regions[0].bytes)->head == 0;
#else
  return walk(regions[0].bytes, regions[0].recorded_at);
#endif
}
#else
#include <pmemsim/pm.h>

static const uint64_t kBase = 0x500000000000;

static void persist(void* line) {
  _mm_clwb(line);
  _mm_sfence();
}

static void insert(struct pool* pool, uint64_t key) {
  struct node* node = &pool->nodes[key * APART % NODES];
  node->key = key;
  node->value = 3 * key;
  node->check = node->key ^ node->value;
  node->next = pool->head;
  persist(node);
  pool->head = (uint64_t)node;
  persist(&pool->head);
  pool->count = key + 1;
  persist(&pool->count);
}

static int check(const char* path) {
  const int file = open(path, O_RDONLY);
  const void* image = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
  if (image != MAP_FAILED) return walk(image, kBase);
  perror(path);
  return 2;
}

int main(int words, char** word) {
  if (words > 1) return check(word[1]);
  struct pool* pool = mmap((void*)kBase, BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (pool == MAP_FAILED) return 1;
  for (uint64_t key = 0; key < NODES; ++key) {
    if (key == NODES - INSERTED) pm_roi_begin();
    insert(pool, key);
  }
  pm_roi_end();
  return 0;
}
#endif
