// Counts items in one region of PM that are in another one, and forgets to flush item 13.
// `two_pools COUNTS ITEMS` is the checker; compiled with LIBRARY it is one for --verify-library,
// which does what HOW says beside.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ITEMS = 20, FORGOTTEN = 13, COUNTS_BYTES = 4096, ITEMS_BYTES = 8192 };
struct item {
  uint64_t value, padding[7];
};

// Values of HOW.
enum { JUDGES, CRASHES, HANGS, EXITS, SCRIBBLES, LEAVES };

static int judge(const uint64_t* count, const struct item* items) {
  for (uint64_t number = 0; number < *count; ++number) {
    if (items[number].value == 3 * (number + 1)) continue;
    fprintf(stderr, "item %d is counted, but isn't there\n", (int)number);
    return 7;
  }
  return 0;
}

#ifdef LIBRARY
#include <pmemsim/check.h>

#ifdef AT_ITS_PLACE
PMEMSIM_CHECK_NEEDS_RECORDED_ADDRESSES;
#endif

static int calls;

static int complain(const char* what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

int pmemsim_check(const struct pmemsim_region* regions, size_t count) {
  if (count != 2 || regions[0].size != COUNTS_BYTES || regions[1].size != ITEMS_BYTES) {
    return complain("these aren't the regions");
  }
  for (size_t i = 0; i < count; ++i) {
    if ((uint64_t)regions[i].bytes != regions[i].recorded_at) return complain("moved");
  }
  if (++calls != 1) return complain("remembers");
  const uint64_t counted = *(uint64_t*)regions[0].bytes;
  const int found = judge(regions[0].bytes, regions[1].bytes);
  if (HOW == CRASHES && counted == 5) *(volatile int*)8 = 1;
  if (HOW == HANGS && counted == 5) {
    for (;;) pause();
  }
  if (HOW == EXITS && counted == 5) exit(0);
  if (HOW == SCRIBBLES) {
    memset(regions[0].bytes, 0xff, regions[0].size);
    memset(regions[1].bytes, 0xff, regions[1].size);
  }
  if (HOW == LEAVES && fork() == 0) {
    setsid();
    execlp("sleep", "sleep", MARK, (char*)NULL);
  }
  return found;
}
#else
static void persist(void* line) {
  _mm_clwb(line);
  _mm_sfence();
}

static void* mapped(const char* path, uint64_t bytes) {
  const int file = open(path, O_RDONLY);
  void* found = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (found == MAP_FAILED) {
    perror(path);
    exit(2);
  }
  return found;
}

int main(int words, char** word) {
  if (words == 3) return judge(mapped(word[1], COUNTS_BYTES), mapped(word[2], ITEMS_BYTES));
  const int access = PROT_READ | PROT_WRITE, how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  uint64_t* count = mmap((void*)0x500000000000, COUNTS_BYTES, access, how, -1, 0);
  struct item* items = mmap((void*)0x510000000000, ITEMS_BYTES, access, how, -1, 0);
  for (uint64_t number = 0; number < ITEMS; ++number) {
    items[number].value = 3 * (number + 1);
    if (number != FORGOTTEN || RIGHT) persist(&items[number]);
    *count = number + 1;
    persist(count);
  }
  return 0;
}
#endif
