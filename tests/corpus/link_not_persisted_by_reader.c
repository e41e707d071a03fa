/* Link-and-persist: a tag says that a pointer may not be durable yet. Each thread that relies on
 * the pointer must persist it first, but the reader ignores the tag. */
#include "case.h"

#include <stdatomic.h>

enum { TAG = 1, NODES = 3 };
struct node {
  IN_LINE uint64_t value;
};
struct pool {
  IN_LINE uintptr_t address; /* of this pool, when the pointers were stored */
  IN_LINE _Atomic uintptr_t newest;
  IN_LINE uint64_t seen;
  struct node nodes[NODES];
};
static struct pool* shared;

static void settle(_Atomic uintptr_t* link, uintptr_t value) {
  persist((void*)link, sizeof *link);
  atomic_compare_exchange_strong(link, &value, value & ~(uintptr_t)TAG);
}

static void* publish(void* unused) {
  for (uint64_t i = 0; i < NODES; ++i) {
    struct node* node = &shared->nodes[i];
    node->value = i + 1;
    persist(node, sizeof *node);
    atomic_store(&shared->newest, (uintptr_t)node | TAG);
    settle(&shared->newest, (uintptr_t)node | TAG);
  }
  return unused;
}

static void* read_newest(void* unused) {
  while (shared->seen != NODES) {
    const uintptr_t link = atomic_load(&shared->newest);
    IF_FIXED(if (link & TAG) settle(&shared->newest, link);)
    if (link == 0) continue;
    shared->seen = ((const struct node*)(link & ~(uintptr_t)TAG))->value;
    persist(&shared->seen, sizeof shared->seen);
  }
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  pool->address = (uintptr_t)pool;
  persist(&pool->address, sizeof pool->address);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, read_newest, NULL);
  pthread_create(&threads[1], NULL, publish, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  const uintptr_t link = atomic_load(&pool->newest) & ~(uintptr_t)TAG;
  const struct node* newest = (void*)((char*)pool + (link - pool->address));
  return pool->seen > (link ? newest->value : 0) ? wrong("a newer value has been seen") : 0;
}
