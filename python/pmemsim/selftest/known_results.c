/* known_results: loops whose results follow from the parameters of the simulated machine.
 *
 *     known_results LOOP OPERATIONS LINES
 *
 * known_results.yaml says what each loop must measure. The loop runs OPERATIONS operations on LINES
 * lines of PM. The lines are loaded once in order before the measured part, which is the region of
 * interest. */
#include <pmemsim/pm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct line {
  struct line* next;
  uint64_t values[PM_LINE_BYTES / sizeof(uint64_t) - 1];
} line;

static uint64_t operations, count;
static pm_pool* pool;
static line* lines;

/* Keeps the value from being optimised away. */
static void use(uint64_t value) { __asm__ volatile("" : : "r"(value)); }

static line* follow(line* at, uint64_t loads) {
  for (; loads > 0; --loads) at = at->next;
  return at;
}

static void persist(line* changed, uint64_t value) {
  changed->values[0] = value;
  pm_flush(changed, sizeof *changed);
  pm_durable();
}

/* Takes longer than any operation on a write: 4000 multiplications, one after the other. */
static void wait_long(void) {
  uint64_t product = 3;
  for (int i = 0; i < 4000; ++i) {
    product *= 0x2545f4914f6cdd1du;
    use(product);
  }
}

/* Loads of all lines in turn, each of which depends on the one before. */
static void load(void) { use((uintptr_t)follow(lines, operations)); }

/* Loads of the first line and of another one in alternation, each of which depends on the one
 * before. The other lines take turns. */
static void load_first_and_others(void) {
  const line* const first = lines;
  const line* other = first->next;
  uint64_t zero = 0;
  lines[count - 1].next = lines->next;
  for (uint64_t left = operations; left > 0; --left) {
    zero = ((const volatile line*)&first[zero])->values[0];
    other = ((const volatile line*)&other[zero])->next;
    zero = (uintptr_t)other % PM_LINE_BYTES;
  }
}

/* A store, its flush and a fence. */
static void persist_each(void) {
  for (uint64_t i = 0; i < operations; ++i) persist(&lines[i % count], i);
}

/* A region that stores to one line. */
static void change_in_region(void) {
  for (uint64_t i = 0; i < operations; ++i) {
    line* changed = &lines[i % count];
    pm_begin(pool);
    pm_log(changed, sizeof *changed);
    changed->values[0] = i;
    pm_end();
  }
}

/* The announcement of a write, long before it. */
static void announce(line* changed, uint64_t value) {
  line announced = *changed;
  announced.values[0] = value;
  pm_pre object;
  pm_pre_init(&object);
  pm_pre_both(&object, changed, &announced, sizeof announced);
  wait_long();
}

static void persist_announced(void) {
  for (uint64_t i = 0; i < operations; ++i) {
    announce(&lines[i % count], i);
    persist(&lines[i % count], i);
  }
}

/* Another line is written between the announcement of a write and the write. */
static void persist_between(void) {
  for (uint64_t i = 0; i < operations; ++i) {
    line* announced = &lines[2 * i % count];
    announce(announced, i);
    persist(announced + 1, i);
    persist(announced, i);
  }
}

static const struct loop {
  const char* name;
  void (*run)(void);
} loops[] = {
    {"load", load},
    {"load_first_and_others", load_first_and_others},
    {"persist_each", persist_each},
    {"change_in_region", change_in_region},
    {"persist_announced", persist_announced},
    {"persist_between", persist_between},
};

static void make_lines(void) {
  pool = pm_open(NULL, (count * sizeof *lines) + (1u << 20), 0);
  lines = pool == NULL ? NULL : pm_alloc(pool, count * sizeof *lines);
  if (lines == NULL) {
    fprintf(stderr, "%s\n", pm_error());
    exit(2);
  }
  memset(lines, 0, count * sizeof *lines);
  for (uint64_t i = 0; i < count; ++i) lines[i].next = &lines[(i + 1) % count];
  pm_begin(pool);
  pm_end();
  use((uintptr_t)follow(lines, count));
}

int main(int argc, char** argv) {
  const struct loop* chosen = NULL;
  for (unsigned i = 0; argc == 4 && i < sizeof loops / sizeof *loops; ++i) {
    if (strcmp(argv[1], loops[i].name) == 0) chosen = &loops[i];
  }
  if (chosen == NULL) {
    fprintf(stderr, "usage: known_results LOOP OPERATIONS LINES\n");
    return 2;
  }
  operations = strtoull(argv[2], NULL, 10);
  count = strtoull(argv[3], NULL, 10);
  make_lines();
  pm_roi_begin();
  chosen->run();
  pm_roi_end();
  return 0;
}
