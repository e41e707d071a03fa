// qsort of narrow and wide elements that are random, sorted or equal; bsearch.
#include <pmemsim/pm.h>
#include <stdlib.h>

struct wide {
  long key, value[3];
};
static int numbers[3000];
static struct wide wide[700];
static int by_number(const void* x, const void* y) {
  const int p = *(const int*)x, q = *(const int*)y;
  return p < q ? -1 : p > q;
}
static int by_key(const void* x, const void* y) {
  const long p = ((const struct wide*)x)->key, q = ((const struct wide*)y)->key;
  return p < q ? -1 : p > q;
}

int main(void) {
  unsigned x = 7;
  long found = 0;
  pm_roi_begin();
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 3000; ++i) numbers[i] = (x = x * 1103515245u + 12345u) >> 8;
    qsort(numbers, 3000, sizeof numbers[0], by_number);
    qsort(numbers, 1000, sizeof numbers[0], by_number);
    for (int i = 0; i < 700; ++i) wide[i].key = (x = x * 1103515245u + 12345u) >> 20;
    qsort(wide, 700, sizeof wide[0], by_key);
    for (int i = 0; i < 500; ++i) {
      const int key = (x = x * 1103515245u + 12345u) >> 8;
      found += bsearch(&key, numbers, 3000, sizeof key, by_number) != NULL;
    }
  }
  pm_roi_end();
  return found < 0;
}
