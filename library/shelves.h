/* Shelves (shelves.c): the free memory of one size class that one thread owns, which is the rest of
 * a chunk and a chain of magazines. allocator.c explains how they work together. */
#ifndef PMEMSIM_LIBRARY_SHELVES_H
#define PMEMSIM_LIBRARY_SHELVES_H

#include <stdlib.h>
#include <string.h>

#include "internal.h"

static inline uint64_t block_bytes(unsigned shelf) {
  if (shelf == MAGAZINE_CLASS) return sizeof(struct magazine);
  if (shelf < 8) return (shelf + 1) * (uint64_t)PM_LINE_BYTES;
  const unsigned doubling = (shelf - 8) / 4, quarter = (shelf - 8) % 4;
  return (uint64_t)(5 + quarter) << (doubling + 1) << 6;
}

static inline struct shelf* shelf_of(struct thread* thread, unsigned shelf) {
  return &thread->pool->arenas[thread->index].shelves[shelf];
}

static inline void chain_insert(struct shelf* shelf, uint32_t position, struct magazine* magazine) {
  struct magazine** grown = realloc(shelf->chain, (shelf->magazines + 1) * sizeof *shelf->chain);
  if (!grown) fatal("out of memory");
  shelf->chain = grown;
  memmove(grown + position + 1, grown + position, (shelf->magazines - position) * sizeof *grown);
  grown[position] = magazine;
  ++shelf->magazines;
}

/* Cuts a block from the shelf's chunk, taking a new chunk if it is used up; 0: the pool is full. */
uint64_t cut_block(struct thread* thread, unsigned number);

/* Puts the blocks that the region has freed into magazines. */
void push_frees(struct thread* thread);

#endif
