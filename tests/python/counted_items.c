// Items after a count, and the number of finished items. One function flushes and fences. Three
// lines call it; one of the calls is unnecessary.
// `counted_items FILE` works on a fresh pool, `counted_items check FILE` is the checker.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ITEMS = 4, LINE = 64 };

struct pool {
  _Alignas(LINE) uint64_t count;
  _Alignas(LINE) uint64_t finished;
  struct {
    _Alignas(LINE) uint64_t value;
  } items[ITEMS];
};

static void fence(void) { _mm_sfence(); }

static void persist(const void* line) {
  fence();  // front
  _mm_clwb((void*)line);
  fence();  // back
}

static void run(struct pool* pool) {
  for (uint64_t number = 0; number < ITEMS; ++number) {
    pool->items[number].value = number + 1;
    persist(&pool->items[number]);  // item
    pool->count = number + 1;
    persist(&pool->count);  // count
    pool->finished = number + 1;
    persist(&pool->finished);  // finished
  }
}

static int check(const struct pool* pool) {
  if (pool->count > ITEMS || pool->finished > pool->count) return 1;
  for (uint64_t number = 0; number < pool->count; ++number) {
    if (pool->items[number].value != number + 1) return 2;
  }
  return 0;
}

int main(int argc, char** argv) {
  const int file = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 4096) != 0) return 3;
  struct pool* pool = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 3;
  if (argc > 2) return check(pool);
  run(pool);
  return 0;
}
