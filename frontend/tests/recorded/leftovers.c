/* Threads store what they have never written: what calls before have left on their stacks, the
   runtime's too. */
#include <pthread.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 500, BYTES = 1024, ACCESSES = 200 };

static char kept[THREADS][BYTES];

static __attribute__((noinline)) void keep(char* to) {
  char never_written[BYTES];
  memcpy(to, never_written, BYTES);
}

static void* work(void* to) {
  for (int round = 0; round < ROUNDS; ++round) {
    /* Most calls of the runtime are to come from here, where keep() will have its frame. */
    for (int access = 0; access < ACCESSES; ++access) continue;
    keep(to);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, kept[i]);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return 0;
}
