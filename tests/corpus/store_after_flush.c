/* A node's last field is stored after its flush. */
#define ANSWERS
#include "case.h"

struct node {
  IN_LINE uint64_t value;
  uint64_t check;
};
struct pool {
  IN_LINE uint64_t head;
  struct node nodes[8];
};

OPERATION add(struct pool* pool, uint64_t i) {
  struct node* node = &pool->nodes[i];
  node->value = 100 + i;
  IF_BUG(flush(node, sizeof *node);)
  node->check = ~node->value;
  IF_FIXED(flush(node, sizeof *node);)
  fence();
  pool->head = i;
  persist(&pool->head, sizeof pool->head);
}

static void run(struct pool* pool) {
  for (uint64_t i = 1; i < 5; ++i) add(pool, i);
}

static int check(struct pool* pool) {
  for (uint64_t i = 1; i <= pool->head; ++i)
    if (pool->nodes[i].check != ~pool->nodes[i].value) return wrong("a node is there in part");
  return 0;
}

static void answer(struct pool* pool) {
  for (uint64_t i = 1; i <= pool->head; ++i)
    printf("%llu, %llu\n", (unsigned long long)pool->nodes[i].value,
           (unsigned long long)pool->nodes[i].check);
}
