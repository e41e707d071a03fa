// Copies of 8 to 4096 bytes, as many of each size.
#include <pmemsim/pm.h>
#include <string.h>

static char from[8192], to[8192];

int main(void) {
  volatile size_t size = 0;
  memset(from, 'a', sizeof from - 1);
  pm_roi_begin();
  for (int round = 0; round < 40; ++round) {
    for (size = 8; size <= 4096; size *= 2) {
      memcpy(to + round, from, size);
      memmove(to + round, to, size + 3);
      memset(to, round, size);
    }
  }
  pm_roi_end();
  return to[5] < 0;
}
