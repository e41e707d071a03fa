/* As planted_bugs.c, of programs with pmemsim/pm.h. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "pmemsim/pm.h"

struct root {
  uint64_t first[8];
  uint64_t second[8];
  uint64_t* block;
};

static pm_pool* pool;
static struct root* root;
static bool bug;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void not_logged(void) {
  pm_begin(pool);
  pm_log(root->first, 8);
  if (!bug) pm_log(root->second, 8);
  root->first[0] = 1;
  root->second[0] = 1; /* not-logged */
  pm_end();
}

static void logged_late(void) {
  pm_begin(pool);
  if (!bug) pm_log(root->first, 8);
  root->first[0] = 1;
  if (bug) pm_log(root->first, 8); /* logged-late */
  root->first[1] = 1;
  pm_end();
}

static void logged_twice(void) {
  pm_begin(pool);
  pm_log(root->first, 16);
  if (bug) pm_log(root->first, 8); /* logged-twice */
  root->first[0] = 1;
  pm_end();
}

static void* counts(void* word) {
  if (!bug) pthread_mutex_lock(&lock);
  pm_begin(pool);
  pm_log(word, 8); /* logged-by-two */
  *(uint64_t*)word += 1;
  pm_end();
  if (!bug) pthread_mutex_unlock(&lock);
  return NULL;
}
static void logged_by_two(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, counts, &root->first[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static void allocate(void) {
  pm_begin(pool);
  pm_log(&root->block, 8);
  root->block = pm_alloc(pool, 64); /* leaked */
  memset(root->block, 1, 64);
  pm_end();
}

static void leaked(void) {
  allocate();
  pm_begin(pool);
  if (!bug) pm_free(pool, root->block);
  pm_log(&root->block, 8);
  root->block = NULL;
  pm_end();
}

static void used_after_free(void) {
  allocate();
  uint64_t* block = root->block;
  pm_begin(pool);
  if (bug) pm_free(pool, block);
  pm_log(root->first, 8);
  root->first[0] = 1;
  if (bug) {
    pm_log(&root->block, 8);
    root->block = NULL;
  }
  pm_end();
  *(volatile uint64_t*)block = 2; /* used-after-free */
  pm_flush(block, 8);
  pm_durable();
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kinds[] = {
      {"not-logged", not_logged},
      {"logged-late", logged_late},
      {"logged-twice", logged_twice},
      {"logged-by-two", logged_by_two},
      {"leaked", leaked},
      {"used-after-free", used_after_free},
  };
  if (argc != 3) return 2;
  bug = strcmp(argv[2], "bug") == 0;
  pool = pm_open(NULL, 8 << 20, 0);
  root = pm_root(pool, sizeof *root);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(argv[1], kinds[i].name) == 0) return kinds[i].run(), 0;
  }
  return 2;
}
