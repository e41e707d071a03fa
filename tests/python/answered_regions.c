// Two counters that regions of pm.h change together; with BUG, the second one isn't logged.
// `answered_regions FILE` counts; `answered_regions list FILE` prints what is there.
#include <pmemsim/pm.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct counters {
  uint64_t first;
  uint64_t apart[15];
  uint64_t second;
};

int main(int count, char** words) {
  pm_pool* pool = pm_open(words[count - 1], 1 << 20, 0);
  if (!pool) return 1;
  struct counters* counters = pm_root(pool, sizeof *counters);
  if (strcmp(words[1], "list") == 0) {
    printf("%d, %d\n", (int)counters->first, (int)counters->second);
    return 0;
  }
  pm_roi_begin();
  for (uint64_t i = 1; i <= 5; ++i) {
    pm_begin(pool);
    pm_log(&counters->first, sizeof counters->first);
    if (!BUG) pm_log(&counters->second, sizeof counters->second);
    counters->first = i;
    counters->second = i;  // second
    pm_end();
  }
  pm_roi_end();
  pm_close(pool);
  return 0;
}
