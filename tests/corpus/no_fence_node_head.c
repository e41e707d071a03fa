/* No fence between a list's node and the head that leads to it. */
#define ANSWERS
#include "case.h"

struct node {
  IN_LINE uint64_t value;
  uint64_t next; /* index, from 1 on */
};
struct pool {
  IN_LINE uint64_t head;
  struct node nodes[8];
};

OPERATION push(struct pool* pool, uint64_t i) {
  struct node* node = &pool->nodes[i];
  node->value = 100 + i;
  node->next = pool->head;
  flush(node, sizeof *node);
  IF_FIXED(fence();)
  pool->head = i;
  persist(&pool->head, sizeof pool->head);
}

static void run(struct pool* pool) {
  for (uint64_t i = 1; i < 5; ++i) push(pool, i);
}

static int check(struct pool* pool) {
  for (uint64_t i = pool->head; i != 0; i = pool->nodes[i].next)
    if (pool->nodes[i].value != 100 + i) return wrong("a node isn't there");
  return 0;
}

static void answer(struct pool* pool) {
  int length = 0;
  for (uint64_t i = pool->head; i != 0 && i < 8 && ++length < 9; i = pool->nodes[i].next)
    printf("%llu\n", (unsigned long long)pool->nodes[i].value);
}
