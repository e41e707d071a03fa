// Two threads write down items, one after the other, in a critical section whose lock they give
// back by a plain store: whose turn is next is in no atomic variable. With BUG, items aren't
// flushed. `plain_unlock FILE` is the checker: each item that counts must be there.
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { ITEMS = 12, BYTES = 4096 };

struct line {
  uint64_t value, padding[7];
};
struct pool {
  struct line count, items[2 * ITEMS];
};

static struct pool* pool;
static int lock;

static void persist(const void* line) {
  _mm_clwb(line);
  _mm_sfence();
}

static void take_lock(void) {
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) _mm_pause();
}
static void give_lock_back(void) { *(volatile int*)&lock = 0; }

static void* write_items(void* unused) {
  for (int i = 0; i < ITEMS; ++i) {
    take_lock();
    uint64_t number = pool->count.value;
    pool->items[number].value = 3 * (number + 1);
#ifndef BUG
    persist(&pool->items[number]);
#endif
    pool->count.value = number + 1;
    persist(&pool->count);
    give_lock_back();
  }
  return unused;
}

static int check(const char* path) {
  static struct pool image;
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(&image, sizeof(image), 1, file) != 1) return 2;
  for (uint64_t number = 0; number < image.count.value; ++number) {
    if (image.items[number].value != 3 * (number + 1)) {
      printf("item %d is lost\n", (int)number);
      return 1;
    }
  }
  return 0;
}

int main(int count, char** words) {
  if (count > 1) return check(words[1]);
  pool = mmap((void*)0x500000000000, BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (pool == MAP_FAILED) return 1;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, write_items, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
