// Blocks of many sizes that live for different times.
#include <pmemsim/pm.h>
#include <stdlib.h>
#include <string.h>

static char* blocks[512];

int main(void) {
  unsigned x = 7;
  pm_roi_begin();
  for (int i = 0; i < 20000; ++i) {
    x = x * 1103515245u + 12345u;
    char** block = &blocks[(x >> 8) % 512];
    free(*block);
    const size_t bytes = (x >> 20) % 16 == 0 ? 2000 : 8 + (x >> 18) % 200;
    *block = i % 10 == 0 ? calloc(1, bytes) : malloc(bytes);
    **block = 1;
    if (i % 20 == 0) *block = realloc(*block, bytes + 100);
  }
  pm_roi_end();
  return 0;
}
