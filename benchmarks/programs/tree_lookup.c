/* tree_lookup: looks up random keys in a balanced binary tree of 32 MiB. An operation is one
 * look-up, whose end decides the next key. */
#include "measured.h"

typedef struct node {
  uint64_t key;
  struct node* child[2];
  uint64_t value;
} node;

static node *nodes, *root;
static uint32_t* order;
static uint64_t state = 1;

/* The tree of the keys from `from` up to `until`, whose nodes lie in random order. */
static node* make(uint64_t from, uint64_t until) {
  if (from == until) return NULL;
  const uint64_t middle = from + (until - from) / 2;
  node* made = &nodes[order[middle]];
  *made = (node){middle, {make(from, middle), make(middle + 1, until)}, middle * 3};
  return made;
}

static void set_up(void) {
  const uint64_t count = (32u << 20) / sizeof(node);
  nodes = volatile_memory(count * sizeof(node));
  order = random_order((uint32_t)count);
  root = make(0, count);
}

static void repeat(void) {
  const uint64_t count = (32u << 20) / sizeof(node);
  for (uint64_t i = 0; i < options.operations; ++i) {
    const uint64_t key = (state >> 32) % count;
    const node* at = root;
    while (at->key != key) at = at->child[at->key < key];
    state = state * 6364136223846793005u + at->value + 1;
  }
  use(state);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
