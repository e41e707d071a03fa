/* The parts of both logs: the index of what the region has logged, and the thread's segments, which
 * are chunks that are never released. Only the build's log (log.c or redo.c) includes this. */
#ifndef PMEMSIM_LIBRARY_LOG_PARTS_H
#define PMEMSIM_LIBRARY_LOG_PARTS_H

#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "internal.h"
#include "persist.h"

static void log_index_clear(struct log_index* set) {
  set->count = 0;
  if (++set->generation != 0) return;
  memset(set->slot, 0, set->capacity * sizeof *set->slot);
  set->generation = 1;
}

/* Adds a chunk to the log by one store. Recovery is right with and without this store, since the
 * chunk contains no record before the fence. */
static bool add_segment(struct pm_pool* pool, unsigned index) {
  struct segments* log = &pool->arenas[index].log;
  uint32_t* grown = realloc(log->chunk, (log->count + 1) * sizeof *log->chunk);
  if (!grown) fatal("out of memory");
  log->chunk = grown;
  int64_t chunk;
  CALL_OUT_OF_LINE chunk = chunks_take(pool, 1);
  if (chunk < 0) return false;
  struct chunk_line* line = &pool->chunk_table[chunk];
  line->use = chunk_use(CHUNK_LOG, 0, index, log->count);
  persist_flush(line, 1);
  persist_fence(FENCE_ORDER);
  log->chunk[log->count++] = (uint32_t)chunk;
  return true;
}

bool log_prepare(struct pm_pool* pool, unsigned index) {
  struct thread* thread = &this_thread;
  enum purpose previous = purpose_switch(thread, PURPOSE_LOG);
  bool prepared = pool->arenas[index].log.count > 0 || add_segment(pool, index);
  purpose_switch(thread, previous);
  return prepared;
}

#endif
