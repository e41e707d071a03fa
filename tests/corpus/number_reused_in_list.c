/* A deleted file's number is free while it is still in the list of files to truncate. If another
 * thread creates a file with this number, recovery truncates the new file. */
#include "case.h"

#include <stdatomic.h>

enum { SIZE = 100 };
struct pool {
  IN_LINE uint64_t sizes[2];  /* of the files 1 and 2 */
  IN_LINE uint64_t truncated; /* a file's number, or 0 */
  IN_LINE uint64_t created;   /* a file's number */
};
static struct pool* shared;
static atomic_int free_number;

static void set(uint64_t* word, uint64_t value) {
  *word = value;
  persist(word, sizeof *word);
}

static void* delete(void* unused) {
  set(&shared->truncated, 1);
  set(&shared->sizes[0], 0);
  IF_BUG(atomic_store(&free_number, 1);)
  set(&shared->truncated, 0);
  IF_FIXED(atomic_store(&free_number, 1);)
  return unused;
}

static void* create(void* unused) {
  const int number = atomic_load(&free_number) ? 1 : 2;
  set(&shared->sizes[number - 1], SIZE);
  set(&shared->created, (uint64_t)number);
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  set(&pool->sizes[0], SIZE);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, delete, NULL);
  pthread_create(&threads[1], NULL, create, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  if (pool->truncated) {
    set(&pool->sizes[pool->truncated - 1], 0);
    set(&pool->truncated, 0);
  }
  return pool->created && pool->sizes[pool->created - 1] == 0 ? wrong("a new file is empty") : 0;
}
