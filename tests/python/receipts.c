/* Sells tickets: a region counts each, then a receipt is written outside regions, which says so. A
 * receipt is a promise, so that what it says must be durable by then. With -DWAITS the program
 * waits for designs that make regions durable later than they end (pm_fence_regions); with -DSLOW
 * it does something else for so long that they are durable on most machines. `receipts FILE` is the
 * checker: no receipt without its ticket. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "pmemsim/pm.h"

enum { TICKETS = 6, POOL_BYTES = 16 << 20 };

struct root {
  uint64_t sold, names[TICKETS];
  uint64_t padding;
  uint64_t receipts, more_padding[7];
};

static pm_pool* pool;

static struct root* root_of(const char* path) {
  pool = pm_open(path, path ? 0 : POOL_BYTES, 0);
  struct root* root = pool ? pm_root(pool, sizeof *root) : NULL;
  if (root == NULL) {
    printf("%s\n", pm_error());
    exit(2);
  }
  return root;
}

static void sell(struct root* root, uint64_t name) {
  pm_begin(pool);
  pm_log_ranges((pm_range[]){{&root->sold, 8}, {&root->names[root->sold], 8}}, 2);
  root->names[root->sold] = name;
  root->sold += 1; /* ticket */
  pm_end();
}

static void write_receipt(struct root* root) {
#ifdef WAITS
  pm_fence_regions();
#endif
#ifdef SLOW
  for (volatile unsigned work = 0; work < 20000; ++work) {
  }
#endif
  root->receipts = root->sold; /* receipt */
  pm_flush(&root->receipts, 8);
  pm_durable();
}

static int check(const char* path) {
  const struct root* root = root_of(path);
  for (uint64_t ticket = 0; ticket < root->sold; ++ticket) {
    if (root->names[ticket] != 100 + ticket) return printf("half a ticket\n"), 1;
  }
  if (root->receipts <= root->sold) return 0;
  printf("%d receipts of %d tickets\n", (int)root->receipts, (int)root->sold);
  return 1;
}

int main(int count, char** words) {
  if (count > 1) return check(words[1]);
  struct root* root = root_of(NULL);
  for (uint64_t ticket = 0; ticket < TICKETS; ++ticket) {
    sell(root, 100 + ticket);
    write_receipt(root);
  }
  return 0;
}
