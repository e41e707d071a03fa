/* Atomic regions: their begin and end.
 *
 * Between two regions, a thread that has too few or too many free blocks of a size class exchanges
 * a magazine with the depot. That changes the pool, so it is a small region of its own, which calls
 * pm_begin and pm_end recursively. */
#include <string.h>

#include "changes.h"
#include "chunks.h"
#include "internal.h"
#include "persist.h"
#include "shelves.h"

/* ---- Exchange with the depots ---------------------------------------------------------------- */

/* Takes a full magazine from the depot and puts it under the shelf's others. */
static void refill(struct pm_pool* pool, unsigned index, unsigned number) {
  if (__atomic_load_n(&pool->depot_magazines[number], __ATOMIC_RELAXED) == 0) return;
  struct depot_line* depot = &pool->depots[number];
  struct shelf_line* line = shelf_line(pool, index, number);
  struct shelf* shelf = &pool->arenas[index].shelves[number];
  pthread_mutex_lock(&pool->depot_lock[number]);
  struct magazine* magazine = (struct magazine*)(uintptr_t)depot->top;
  if (magazine) {
    pm_begin(pool);
    region_log(&this_thread,
               (pm_range[]){{&depot->top, 8}, {&magazine->above, 8}, {&line->bottom, 8}}, 3);
    region_set(depot->top, magazine->above);
    region_set(magazine->above, line->bottom);
    region_set(line->bottom, (uintptr_t)magazine);
    pm_end();
    if (shelf->magazines > 0)
      ++shelf->current;
    else
      shelf->blocks = MAGAZINE_BLOCKS;
    chain_insert(shelf, 0, magazine);
    __atomic_fetch_sub(&pool->depot_magazines[number], 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&pool->depot_lock[number]);
}

/* Moves the shelf's bottom magazine, which is full, to the depot. */
static void donate(struct pm_pool* pool, unsigned index, unsigned number) {
  struct depot_line* depot = &pool->depots[number];
  struct shelf_line* line = shelf_line(pool, index, number);
  struct shelf* shelf = &pool->arenas[index].shelves[number];
  if (shelf->current < 2) return;
  struct magazine* magazine = shelf->chain[0];
  pthread_mutex_lock(&pool->depot_lock[number]);
  pm_begin(pool);
  region_log(&this_thread,
             (pm_range[]){{&depot->top, 8}, {&magazine->above, 8}, {&line->bottom, 8}}, 3);
  region_set(line->bottom, magazine->above);
  region_set(magazine->above, depot->top);
  region_set(depot->top, (uintptr_t)magazine);
  pm_end();
  --shelf->magazines;
  --shelf->current;
  memmove(shelf->chain, shelf->chain + 1, shelf->magazines * sizeof *shelf->chain);
  __atomic_fetch_add(&pool->depot_magazines[number], 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&pool->depot_lock[number]);
}

/* Fills shelves. The small regions of an exchange call this function, too; they must not lock
 * another depot. */
OUT_OF_LINE static void take_from_depots(struct pm_pool* pool, unsigned index) {
  struct arena* arena = &pool->arenas[index];
  if (arena->short_of == 0 || arena->balancing) return;
  arena->balancing = true;
  for (; arena->short_of; arena->short_of &= arena->short_of - 1)
    refill(pool, index, (unsigned)__builtin_ctz(arena->short_of));
  arena->balancing = false;
}

/* Donates spare magazines, and releases the chunks that the region has freed. */
OUT_OF_LINE static void give_to_depots(struct thread* thread, struct pm_pool* pool) {
  struct arena* arena = &pool->arenas[thread->index];
  for (size_t i = 0; i < thread->released_count; ++i) chunks_release(pool, thread->released[i]);
  thread->released_count = 0;
  if (arena->can_donate == 0 || arena->balancing) return;
  arena->balancing = true;
  for (; arena->can_donate; arena->can_donate &= arena->can_donate - 1)
    donate(pool, (unsigned)thread->index, (unsigned)__builtin_ctz(arena->can_donate));
  arena->balancing = false;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

OUT_OF_LINE void pm_begin(pm_pool* pool) {
  struct thread* thread = &this_thread;
  if (thread->depth > 0) {
    if (thread->pool != pool) fatal("pm_begin: the enclosing region belongs to another pool");
  } else {
    if (!pool) fatal("pm_begin: the pool is NULL");
    thread_attach();
    take_from_depots(pool, (unsigned)thread->index);
    thread->pool = pool;
  }
  mark(MARK_REGION_BEGIN, ++thread->depth, 0);
}

static void flush_data(struct thread* thread) {
  if (thread->to_flush_count == 0) return;
  enum purpose previous = purpose_switch(thread, PURPOSE_DATA_FLUSH);
  for (size_t i = 0; i < thread->to_flush_count; ++i) {
    struct line_run run = thread->to_flush[i];
    persist_flush(thread->pool->start + (uint64_t)run.first * PM_LINE_BYTES, run.count);
  }
  persist_fence(FENCE_ORDER);
  thread->to_flush_count = 0;
  purpose_switch(thread, previous);
}

OUT_OF_LINE void pm_end(void) {
  struct thread* thread = &this_thread;
  if (thread->depth == 0) fatal("pm_end: there is no region to end");
  if (thread->depth > 1) {
    mark(MARK_REGION_END, thread->depth--, 0);
    return;
  }
  struct pm_pool* pool = thread->pool;
  push_frees(thread);
  if (thread->deferred_count > 0) region_log(thread, NULL, 0);
  flush_data(thread);
  log_commit(thread);
  mark(MARK_REGION_END, 1, 0);
  thread->depth = 0;
  thread->pool = NULL;
  give_to_depots(thread, pool);
}

int pm_thread(pm_pool* pool, unsigned index) {
  if (!thread_attach_as(index)) return -1;
  if (!log_prepare(pool, index)) {
    set_error("pm_thread: the pool is full and has no space for the thread's log");
    return -1;
  }
  return 0;
}
