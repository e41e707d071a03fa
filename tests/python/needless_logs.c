/* Regions with calls of pm_log that are needless, for the reason in the comment, and with needed
 * ones. With -DWITHOUT the needless ones are left out, and a flush does instead of a region that
 * stores one word. With -DLEFT_OUT the needed ones are left out.
 *
 *     needless_logs POOL          executes the regions
 *     needless_logs check POOL    recovers the pool, and appends its contents to the file $STATES
 */
#include <stdio.h>
#include <stdlib.h>

#include "pmemsim/pm.h"

#ifdef WITHOUT
#define PLANTED(...)
#define RANGES 2
#else
#define PLANTED(...) __VA_ARGS__
#define RANGES 3
#endif
#ifdef LEFT_OUT
#define NEEDED(...)
#else
#define NEEDED(...) __VA_ARGS__
#endif

struct line {
  uint64_t word[8];
};
struct root {
  struct line first, second, read, word, flushed, list;
};

static pm_pool* pool;
static struct root* root;

__attribute__((noinline)) static uint64_t read_logged(void) {
  PLANTED(pm_log(&root->read, 8);) /* not stored to */
  return root->read.word[0];
}

static void add_node(uint64_t value) {
  pm_begin(pool);
  struct line* node = pm_alloc(pool, sizeof *node);
  PLANTED(pm_log(node, sizeof *node);)      /* allocated in the region */
  PLANTED(pm_log(&root->first.word[0], 8);) /* logged later */
  const pm_range ranges[] = {{&root->list, 8}, {&root->first, 16}, {node, 8}};
  NEEDED(pm_log_ranges(ranges, RANGES);)    /* range 3: allocated in the region */
  PLANTED(pm_log(&root->first.word[2], 8);) /* logged before */
  node->word[0] = value + read_logged();
  node->word[1] = root->list.word[0];
  root->list.word[0] = (uintptr_t)node;
  root->first.word[0] = value;
  root->first.word[1] = value;
  pm_end();
}

static void set_second(uint64_t value) {
  pm_begin(pool);
  NEEDED(pm_log(&root->second.word[0], 8);)
  root->second.word[0] = value;
  root->second.word[1] = value;
  pm_end();
}

/* The end of the region flushes what it has declared. */
static void flush_by_region(uint64_t value) {
  root->flushed.word[0] = value;
  pm_begin(pool);
  NEEDED(pm_log(&root->flushed, 8);)
  pm_end();
  root->read.word[1] = value; /* not without the other */
  pm_flush(&root->read, 8);
  pm_durable();
}

static void set_word(uint64_t value) {
#ifdef WITHOUT
  root->word.word[3] = value;
  pm_flush(&root->word.word[3], 8);
  pm_durable();
#else
  pm_begin(pool);
  pm_log(&root->word.word[3], 8); /* one word */
  root->word.word[3] = value;
  pm_end();
#endif
}

static void read_in_region(void) {
  pm_begin(pool);
  PLANTED(pm_log(&root->word, 8);) /* not stored to */
  (void)*(volatile uint64_t*)&root->word;
  pm_end();
}

static int check(const char* path) {
  pool = pm_open(path, 0, 0);
  if (!pool) return 2;
  root = pm_root(pool, sizeof *root);
  FILE* out = fopen(getenv("STATES"), "a");
  const uint64_t* word = (const uint64_t*)root;
  for (size_t i = 0; i < (sizeof *root - sizeof root->list) / sizeof *word; ++i)
    if (word[i]) fprintf(out, "%zu:%lu ", i, word[i]);
  for (const struct line* at = (void*)(uintptr_t)root->list.word[0]; at;
       at = (void*)(uintptr_t)at->word[1])
    fprintf(out, "node %lu ", at->word[0]);
  fprintf(out, "\n");
  fclose(out);
  return 0;
}

int main(int count, char** words) {
  if (count == 3) return check(words[2]);
  pool = pm_open(words[1], 1 << 20, 0);
  root = pm_root(pool, sizeof *root);
  pm_roi_begin();
  add_node(1);
  set_second(1);
  flush_by_region(1);
  set_word(1);
  read_in_region();
  pm_roi_end();
  return 0;
}
