/* A log in one file and the data in another, each of 3 pages. The program maps them at addresses of
 * its own, and its check at others, the data in two parts.
 *
 *     two_files run LOG DATA
 *     two_files check LOG DATA    recovers, then judges
 *
 * BUG=1: recovery ends the log without a flush of what it restores. BUG=2: run() ends it so.
 * BUG=3: as 1, and a second recovery that finds a mistake doesn't end.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 3 };

struct log {
  uint64_t valid;
  uint64_t first, second;
};

__attribute__((target("clwb"))) static void persist(void* line) {
  _mm_clwb(line);
  _mm_sfence();
}

static void* map(const char* name, void* wanted, size_t bytes, off_t offset) {
  const int file = open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, PAGES * PAGE) != 0) return MAP_FAILED;
  const int fixed = wanted ? MAP_FIXED : 0;
  return mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, file, offset);
}

static void run(struct log* log, uint64_t* first, uint64_t* second) {
  for (uint64_t value = 1; value < 4; ++value) {
    log->first = *first;
    log->second = *second;
    persist(log);
    log->valid = 1;
    persist(log);
    *first = value;  // first half
    persist(first);
    *second = value;
    if (BUG != 2) persist(second);
    log->valid = 0;  // the end
    persist(log);
    if (BUG == 2) persist(second);
  }
}

static int check(struct log* log, uint64_t* first, uint64_t* second) {
  if (log->valid) {         // looks
    *first = log->first;    // puts back
    *second = log->second;  // restores
    if (BUG != 1 && BUG != 3) {
      persist(first);
      persist(second);
    }
    log->valid = 0;  // ends
    persist(log);
  }
  const int wrong = *first != *second;
  while (wrong && BUG == 3) pause();
  if (wrong) fprintf(stderr, "the halves differ\n");
  return wrong;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  if (strcmp(words[1], "run") == 0) {
    struct log* log = map(words[2], (void*)0x500000000000, PAGES * PAGE, 0);
    char* data = map(words[3], (void*)0x500000800000, PAGES * PAGE, 0);
    run(log, (uint64_t*)data, (uint64_t*)(data + 2 * PAGE));
    return 0;
  }
  struct log* log = map(words[2], 0, PAGES * PAGE, 0);
  uint64_t* first = map(words[3], (void*)0x510000000000, PAGE, 0);
  uint64_t* second = map(words[3], (void*)0x520000000000, PAGE, 2 * PAGE);
  return check(log, first, second);
}
