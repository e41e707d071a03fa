// Forty pages, each with a word that is stored and never flushed, and checks of some pages, as
// libraries and (with PROGRAM) as programs. Pages are 64 KiB large, because the kernel may report
// reads no more exactly.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 40 };
struct page {
  uint64_t word, rest[8191];
};

#ifdef CHECK
static int wrong(const char* what) {
  puts(what);
  return 1;
}
static int two_words(const struct page* pages) { return pages[3].word > 1 || pages[30].word > 1; }

// Accepts an image in which page 3 has its word only if page 30 has its word, too.
static int in_order(const struct page* pages) {
  if (pages[3].word && !pages[30].word) return wrong("page 30 isn't there");
  return 0;
}

// Reads pages 7 and 9 in the kernel only.
static int by_system_calls(const struct page* pages) {
  int ends[2];
  char bytes[2];
  if (pipe(ends) != 0) return 1;
  if (write(ends[1], &pages[7].word, 1) != 1 || write(ends[1], &pages[9].word, 1) != 1) return 1;
  if (read(ends[0], bytes, 2) != 2) return 1;
  return bytes[0] > 1 || bytes[1] > 1;
}

static int by_a_child(struct page* pages) {
  const pid_t child = fork();
  if (child == 0) _exit(two_words(pages));
  int status = 1;
  waitpid(child, &status, 0);
  return status;
}

static int unmapped(struct page* pages) {
  const int status = two_words(pages);
  munmap(&pages[3], sizeof(*pages));
  return status;
}

// A page that recovery writes to is as if it were read.
static int written(struct page* pages) {
  pages[5].word = 9;
  return pages[5].word != 9;
}

#ifdef PROGRAM
#include <fcntl.h>

int main(int words, char** word) {
  struct page* pages = mmap(NULL, PAGES * sizeof(*pages), PROT_READ | PROT_WRITE, MAP_PRIVATE,
                            open(word[words - 1], O_RDONLY), 0);
  return pages != MAP_FAILED ? CHECK(pages) : 2;
}
#else
#include <pmemsim/check.h>

int pmemsim_check(const struct pmemsim_region* regions, size_t count) {
  return count == 1 ? CHECK(regions[0].bytes) : 1;
}
#endif
#else
int main(void) {
  struct page* pages = mmap((void*)0x500000000000, PAGES * sizeof(*pages), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (pages == MAP_FAILED) return 1;
  for (int page = 0; page < PAGES; ++page) pages[page].word = 1;  // stored
  return 0;
}
#endif
