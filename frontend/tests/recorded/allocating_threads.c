// Threads in a program with an instrumented allocator of its own, which the C library calls for
// what each thread has of its own.
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define BYTES (1 << 20)

static _Alignas(16) char arena[BYTES];
static size_t used;

void* malloc(size_t bytes) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  void* memory = arena + used;
  used += (bytes + 15) / 16 * 16;
  pthread_mutex_unlock(&lock);
  return used <= BYTES ? memory : NULL;
}
void free(void* memory) { (void)memory; }
void* calloc(size_t count, size_t bytes) {
  void* memory = malloc(count * bytes);
  return memory == NULL ? NULL : memset(memory, 0, count * bytes);
}
void* realloc(void* before, size_t bytes) {
  char* memory = malloc(bytes);
  for (size_t i = 0; before != NULL && memory != NULL && i < bytes; ++i) {
    memory[i] = ((char*)before)[i];
  }
  return memory;
}

static void* work(void* memory) {
  for (int i = 0; i < 100; ++i) *(int*)memory += malloc(16) != NULL;
  return NULL;
}

int main(void) {
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  int counts[THREADS] = {0}, sum = 0;
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, work, &counts[i]) != 0) return 1;
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    sum += counts[i];
  }
  return sum == THREADS * 100 ? 0 : 1;
}
