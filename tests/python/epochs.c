/* Publishes values: writes each, and then the number of those that are there. With -DORDERED the
 * program says that the one comes before the other (pm_order: an ofence to HOPS).
 * `epochs FILE` is the checker: each value that counts must be there. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "pmemsim/pm.h"

enum { VALUES = 6, BYTES = 4096 };

struct line {
  uint64_t value, padding[7];
};
struct pool {
  struct line count, values[VALUES];
};

static int check(const char* path) {
  static struct pool image;
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(&image, sizeof(image), 1, file) != 1) return 2;
  for (uint64_t number = 0; number < image.count.value; ++number) {
    if (image.values[number].value == 100 + number) continue;
    printf("value %d counts, but isn't there\n", (int)number);
    return 1;
  }
  return 0;
}

int main(int count, char** words) {
  if (count > 1) return check(words[1]);
  struct pool* pool = mmap((void*)0x500000000000, BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (pool == MAP_FAILED) return 2;
  for (uint64_t number = 0; number < VALUES; ++number) {
    pool->values[number].value = 100 + number; /* value */
    pm_flush(&pool->values[number], 8);
#ifdef ORDERED
    pm_order();
#endif
    pool->count.value = number + 1; /* count */
    pm_flush(&pool->count, 8);
    pm_durable();
  }
  return 0;
}
