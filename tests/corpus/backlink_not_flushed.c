/* A doubly linked list: the old head's way back isn't flushed. */
#include "case.h"

struct node {
  IN_LINE uint64_t next;
  uint64_t before; /* indices, from 1 on */
};
struct pool {
  IN_LINE uint64_t head;
  struct node nodes[8];
};

static void run(struct pool* pool) {
  for (uint64_t i = 1; i < 6; ++i) {
    const uint64_t second = pool->head;
    pool->nodes[i].next = second;
    pool->nodes[i].before = 0;
    persist(&pool->nodes[i], sizeof pool->nodes[i]);
    if (second != 0) {
      pool->nodes[second].before = i; /* never flushed without the fix */
      IF_FIXED(persist(&pool->nodes[second], sizeof pool->nodes[second]);)
    }
    pool->head = i;
    persist(&pool->head, sizeof pool->head);
  }
}

static int check(struct pool* pool) {
  for (uint64_t i = pool->head; i != 0 && pool->nodes[i].next != 0; i = pool->nodes[i].next)
    if (pool->nodes[pool->nodes[i].next].before != i) return wrong("no way back");
  return 0;
}
