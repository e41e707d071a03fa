/* A file's checksum says that its pages are complete. No fence orders the pages before it. */
#define ANSWERS
#include "case.h"

enum { PAGES = 2, FILES = 2 };
struct page {
  IN_LINE uint64_t replica; /* the other page's number, from 1 on */
};
struct file {
  IN_LINE uint64_t page; /* the first page's number */
  uint64_t checksum;
};
struct pool {
  struct file files[FILES];
  struct page pages[1 + PAGES * FILES];
};

static uint64_t sum_of(const struct file* file) { return file->page * 31 + 1; }

OPERATION create(struct pool* pool, uint64_t number) {
  struct file* file = &pool->files[number];
  const uint64_t first = 1 + PAGES * number;
  pool->pages[first].replica = first + 1;
  pool->pages[first + 1].replica = first;
  flush(&pool->pages[first], PAGES * sizeof(struct page));
  IF_FIXED(fence();)
  file->page = first;
  file->checksum = sum_of(file);
  persist(file, sizeof *file);
}

static void run(struct pool* pool) {
  for (uint64_t number = 0; number < FILES; ++number) create(pool, number);
}

static int is_valid(const struct file* file) { return file->checksum == sum_of(file); }

static int check(struct pool* pool) {
  for (int i = 0; i < FILES; ++i) {
    const uint64_t page = pool->files[i].page;
    if (is_valid(&pool->files[i]) && pool->pages[pool->pages[page].replica].replica != page)
      return wrong("a page has no replica");
  }
  return 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; i < FILES; ++i)
    if (is_valid(&pool->files[i]))
      printf("%llu\n", (unsigned long long)pool->pages[pool->files[i].page].replica);
}
