/* Ten programs, each of which stalls at the line that its name marks.
 *
 *     slow_lines NAME */
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmemsim/pm.h"

enum { ROUNDS = 200, LINES = 1 << 15, THREADS = 4, FIELDS = 8, BURST = 24 };

struct line {
  _Alignas(PM_LINE_BYTES) uint64_t word[8];
};
struct root {
  struct line own[THREADS], shared, burst[BURST];
  struct line* far; /* LINES of PM, in a random cycle */
};

static pm_pool* pool;
static struct root* root;
static struct line* table; /* LINES outside PM */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t result;

static __attribute__((noinline)) void persist(const void* line) {
  _mm_clwb(line);
  _mm_sfence();
}

static __attribute__((noinline)) void store_and_persist(struct line* line, uint64_t value) {
  line->word[0] = value;
  persist(line); /* flush */
}

static void flush_in_a_function(void) {
  for (uint64_t i = 0; i < ROUNDS; ++i) store_and_persist(&root->shared, i);
}

static void* hold_over_a_fence(void* unused) {
  for (uint64_t i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&lock);
    root->shared.word[0] = i;
    _mm_clwb(&root->shared);
    _mm_sfence(); /* held */
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void fill_the_wpq(void) {
  for (uint64_t i = 0; i < ROUNDS; ++i) {
    for (int each = 0; each < BURST; ++each) {
      root->burst[each].word[0] = i;
      _mm_clwb(&root->burst[each]);
    }
    _mm_sfence(); /* wpq */
  }
}

static void divide_in_a_chain(void) {
  uint64_t value = result + 1000003;
  for (int i = 0; i < ROUNDS * 10; ++i) value = 1000000007u / (value % 1000 + 1) + 7; /* chain */
  result = value;
}

static void chase(void) {
  const struct line* at = root->far;
  for (int i = 0; i < LINES; ++i) at = (const struct line*)at->word[0]; /* loads */
  result = (uint64_t)at;
}

static void log_each_field(void) {
  for (uint64_t i = 0; i < ROUNDS; ++i) {
    pm_begin(pool);
    for (int field = 0; field < FIELDS; ++field) {
      pm_log(&root->burst[field].word[0], 8); /* log */
      pm_set(root->burst[field].word[0], i);
    }
    pm_end();
  }
}

static void store_to_missing_lines(void) {
  for (uint64_t i = 0; i < LINES; ++i) {
    table[i * 97 % LINES].word[0] = i; /* stores */
  }
}

static void load_from_one_bank(void) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < LINES; ++i) {
    sum += root->far[i * 97 % LINES].word[1]; /* bank */
  }
  result = sum;
}

static void* hold_and_compute(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&lock); /* busy */
    uint64_t value = result;
    for (int each = 0; each < 100; ++each) value = value * 31 + 7;
    result = value;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void run_threads(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, body, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static void prepare(void) {
  pool = pm_open(NULL, 16 << 20, 0);
  root = pm_root(pool, sizeof *root);
  root->far = pm_alloc(pool, LINES * sizeof(struct line));
  table = aligned_alloc(64, LINES * sizeof(struct line));
  if (root->far == NULL || table == NULL) abort();
  for (uint64_t i = 0; i < LINES; ++i) {
    root->far[i].word[0] = (uint64_t)&root->far[(i * 5 + 1) % LINES];
  }
}

int main(int count, char** names) {
  const char* const name = count > 1 ? names[1] : "";
  prepare();
  pm_roi_begin();
  if (strcmp(name, "flush") == 0) flush_in_a_function();
  if (strcmp(name, "backend") == 0) flush_in_a_function();
  if (strcmp(name, "held") == 0) run_threads(hold_over_a_fence);
  if (strcmp(name, "wpq") == 0) fill_the_wpq();
  if (strcmp(name, "chain") == 0) divide_in_a_chain();
  if (strcmp(name, "loads") == 0) chase();
  if (strcmp(name, "log") == 0) log_each_field();
  if (strcmp(name, "stores") == 0) store_to_missing_lines();
  if (strcmp(name, "bank") == 0) load_from_one_bank();
  if (strcmp(name, "busy") == 0) run_threads(hold_and_compute);
  pm_roi_end();
  return 0;
}
