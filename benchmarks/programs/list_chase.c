/* list_chase: follows a list whose nodes lie in random order over 256 MiB, which fits no cache. An
 * operation is one node. */
#include "measured.h"

typedef struct node {
  struct node* next;
  char rest[LINE_BYTES - sizeof(struct node*)];
} node;

static node* at;

static void set_up(void) {
  const uint32_t count = (256u << 20) / sizeof(node);
  node* nodes = volatile_memory((uint64_t)count * sizeof(node));
  uint32_t* order = random_order(count);
  for (uint32_t i = 0; i < count; ++i) nodes[order[i]].next = &nodes[order[(i + 1) % count]];
  at = &nodes[order[0]];
  free(order);
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) at = at->next;
  use((uintptr_t)at);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
