/* The set of chunks in use, in ordinary memory, under a lock of its own. The log and the allocator
 * take their chunks here. A region takes chunks immediately; chunks that it releases become free
 * when it has committed. */
#ifndef PMEMSIM_LIBRARY_CHUNKS_H
#define PMEMSIM_LIBRARY_CHUNKS_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "changes.h"
#include "internal.h"

/* Returns the first number of a run of free chunks at or behind `from`, or -1 if there is none. */
inline int64_t chunks_find(const struct pm_pool* pool, uint64_t from, uint64_t count) {
  uint64_t run = 0;
  for (uint64_t chunk = from; chunk < pool->chunks; ++chunk) {
    run = pool->chunk_taken[chunk] ? 0 : run + 1;
    if (run == count) return (int64_t)(chunk - count + 1);
  }
  return -1;
}

/* Takes a run of free chunks; returns its first number, or -1 if there is none. */
inline int64_t chunks_take(struct pm_pool* pool, uint64_t count) {
  pthread_mutex_lock(&pool->chunk_lock);
  int64_t first = chunks_find(pool, pool->chunk_cursor, count);
  if (first < 0) first = chunks_find(pool, 0, count);
  if (first >= 0) {
    memset(pool->chunk_taken + first, 1, count);
    pool->chunk_cursor = (uint64_t)first + count;
  }
  pthread_mutex_unlock(&pool->chunk_lock);
  return first;
}

/* Frees chunks that a region has released. Called after its commit: until then the region may be
 * undone and need them again. */
inline void chunks_release(struct pm_pool* pool, struct chunk_run run) {
  pthread_mutex_lock(&pool->chunk_lock);
  memset(pool->chunk_taken + run.first, 0, run.count);
  if (run.first < pool->chunk_cursor) pool->chunk_cursor = run.first;
  pthread_mutex_unlock(&pool->chunk_lock);
}

/* Sets the chunk's use, if the region commits. Recovery finds the logs in the chunk table. */
static inline void chunk_defer(struct thread* thread, uint64_t chunk, uint64_t use) {
  uint64_t* word = &thread->pool->chunk_table[chunk].use;
  mark(MARK_READ_FIRST, (uintptr_t)word, 0);
  defer(thread, word, use);
}

#endif
