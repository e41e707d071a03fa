/* Shelves: cutting new blocks, and putting freed blocks into magazines. */
#include "shelves.h"

#include <string.h>

#include "changes.h"
#include "chunks.h"

uint64_t cut_block(struct thread* thread, unsigned number) {
  struct pm_pool* pool = thread->pool;
  struct shelf* shelf = shelf_of(thread, number);
  struct shelf_line* line = shelf_line(pool, (unsigned)thread->index, number);
  const uint64_t bytes = block_bytes(number);
  if (shelf->next == shelf->end) {
    int64_t chunk = chunks_take(pool, 1);
    if (chunk < 0) return 0;
    chunk_defer(thread, chunk, chunk_use(CHUNK_BLOCKS, number, 0, 0));
    shelf->next = (uintptr_t)chunk_address(pool, (uint64_t)chunk);
    shelf->end = shelf->next + CHUNK_BYTES / bytes * bytes;
    defer(thread, &line->end, shelf->end);
  }
  const uint64_t block = shelf->next;
  shelf->next += bytes;
  defer(thread, &line->next, shelf->next);
  return block;
}

/* Puts an empty magazine on top of the chain. False if the pool is full. */
static bool add_magazine(struct thread* thread, unsigned number) {
  struct shelf* shelf = shelf_of(thread, number);
  struct magazine* magazine = (struct magazine*)(uintptr_t)cut_block(thread, MAGAZINE_CLASS);
  if (!magazine) return false;
  mark(MARK_ALLOCATE, (uintptr_t)magazine, sizeof *magazine);
  region_clear(thread, magazine, sizeof *magazine);
  flush_at_end(thread, magazine, sizeof *magazine);
  uint64_t* link = shelf->magazines > 0
                       ? &shelf->chain[shelf->magazines - 1]->above
                       : &shelf_line(thread->pool, (unsigned)thread->index, number)->bottom;
  defer(thread, link, (uintptr_t)magazine);
  chain_insert(shelf, shelf->magazines, magazine);
  return true;
}

static void push_block(struct thread* thread, unsigned number, uint64_t block) {
  struct shelf* shelf = shelf_of(thread, number);
  if (shelf->magazines == 0 || shelf->blocks == MAGAZINE_BLOCKS) {
    const uint32_t next = shelf->magazines == 0 ? 0 : shelf->current + 1;
    /* In a full pool the block is lost: this function has no way to report a failure. */
    if (next == shelf->magazines && !add_magazine(thread, number)) return;
    shelf->current = next;
    shelf->blocks = 0;
  }
  defer(thread, &shelf->chain[shelf->current]->block[shelf->blocks++], block);
  if (shelf->current >= 2) thread->pool->arenas[thread->index].can_donate |= UINT32_C(1) << number;
}

void push_frees(struct thread* thread) {
  for (size_t i = 0; i < thread->frees_count; ++i) {
    shelf_of(thread, thread->frees[i].shelf)->frees = 0;
    push_block(thread, thread->frees[i].shelf, thread->frees[i].block);
  }
  thread->frees_count = 0;
}
