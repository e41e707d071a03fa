/* Two threads push nodes onto a list without a lock. The thread that changes the head persists it;
 * no thread persists the node. */
#include "case.h"

#include <stdatomic.h>

enum { EACH = 3 };
struct node {
  IN_LINE uint64_t value;
  uint64_t next; /* index, from 1 on */
};
struct pool {
  IN_LINE _Atomic uint64_t head;
  struct node nodes[1 + 2 * EACH];
};
static struct pool* shared;

static void* push(void* first) {
  for (uint64_t i = (uint64_t)first; i < (uint64_t)first + EACH; ++i) {
    struct node* node = &shared->nodes[i];
    node->value = 100 + i;
    uint64_t head = atomic_load(&shared->head);
    do {
      /* What another thread has put there is made durable by who builds on it. */
      IF_FIXED(persist((void*)&shared->head, sizeof shared->head);)
      node->next = head;
      IF_FIXED(persist(node, sizeof *node);)
    } while (!atomic_compare_exchange_strong(&shared->head, &head, i));
    persist((void*)&shared->head, sizeof shared->head);
  }
  return NULL;
}

static void run(struct pool* pool) {
  shared = pool;
  pthread_t threads[2];
  for (uint64_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, push, (void*)(1 + i * EACH));
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  uint64_t length = 0;
  for (uint64_t i = atomic_load(&pool->head); i != 0; i = pool->nodes[i].next)
    if (pool->nodes[i].value != 100 + i || ++length > 2 * EACH) return wrong("a node isn't there");
  return 0;
}
