/* graph_walk: walks at random through a graph of 16,384 nodes, 1 MiB, each of which has four edges,
 * and adds up the values of the nodes. An operation is one step. */
#include "measured.h"

enum { NODES = 16384, EDGES = 4 };

typedef struct {
  uint64_t value;
  uint32_t edges[EDGES];
  char rest[LINE_BYTES - sizeof(uint64_t) - EDGES * sizeof(uint32_t)];
} node;

static node* nodes;
static uint64_t at, sum;

static void set_up(void) {
  nodes = volatile_memory(NODES * sizeof *nodes);
  for (uint32_t i = 0; i < NODES; ++i) {
    nodes[i].value = random_number();
    for (int k = 0; k < EDGES; ++k) nodes[i].edges[k] = (uint32_t)(random_number() % NODES);
  }
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    const node* here = &nodes[at];
    sum += here->value;
    at = here->edges[random_number() % EDGES];
  }
  use(sum);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
