/* A log's header has a checksum and is updated in place. A crash may tear it, and the log can't be
 * opened any more. */
#define ANSWERS
#include "case.h"

struct header {
  IN_LINE uint64_t generation;
  IN_LINE uint64_t checksum;
};
struct pool {
  struct header headers[2]; /* the valid one with the larger generation counts */
};

static uint64_t sum_of(uint64_t generation) { return 7 * generation; }

static int is_valid(const struct header* header) {
  return header->checksum == sum_of(header->generation);
}

static const struct header* current(const struct pool* pool) {
  const struct header* best = NULL;
  for (int i = 0; i < 2; ++i) {
    const struct header* header = &pool->headers[i];
    if (is_valid(header) && (best == NULL || header->generation > best->generation)) best = header;
  }
  return best;
}

OPERATION erase(struct pool* pool, uint64_t generation) {
  struct header* header = &pool->headers[IF_BUG(0) IF_FIXED(generation % 2)];
  header->generation = generation;
  header->checksum = sum_of(generation);
  persist(header, sizeof *header);
}

static void run(struct pool* pool) {
  for (uint64_t generation = 1; generation <= 4; ++generation) erase(pool, generation);
}

static int check(struct pool* pool) {
  const struct header* header = IF_BUG(&pool->headers[0]) IF_FIXED(current(pool));
  return header == NULL || !is_valid(header) ? wrong("the log has no header") : 0;
}

static void answer(struct pool* pool) {
  const struct header* header = current(pool);
  if (header != NULL) printf("%llu\n", (unsigned long long)header->generation);
}
