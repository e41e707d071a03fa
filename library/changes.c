/* The changes of a region, and the flushes, fences and marks of the programming interface. */
#include "changes.h"

#include "internal.h"
#include "persist.h"

static size_t lines_of(const void* address, size_t bytes) {
  if (bytes == 0) return 0;
  uintptr_t first = (uintptr_t)address / PM_LINE_BYTES;
  return ((uintptr_t)address + bytes - 1) / PM_LINE_BYTES - first + 1;
}

#ifndef PM_REDO_LOG

void flush_later(struct thread* thread, uint32_t first_line, uint32_t lines) {
  if (thread->to_flush_count > 0) {
    struct line_run* last = &thread->to_flush[thread->to_flush_count - 1];
    if (last->first + last->count == first_line) {
      last->count += lines;
      return;
    }
  }
  array_reserve(&thread->to_flush, thread->to_flush_count, &thread->to_flush_capacity,
                sizeof *thread->to_flush);
  thread->to_flush[thread->to_flush_count++] = (struct line_run){first_line, lines};
}

/* Logs the ranges and the lines that the allocator changes, under one fence, and then makes the
 * allocator's deferred stores. */
void region_log(struct thread* thread, const pm_range* ranges, size_t count) {
  for (size_t i = 0; i < count; ++i)
    mark(MARK_LOG_RANGE, (uintptr_t)ranges[i].address, ranges[i].bytes);
  for (size_t i = 0; i < thread->deferred_count; ++i)
    mark(MARK_LOG_RANGE, (uintptr_t)thread->deferred[i].word, sizeof(uint64_t));

  enum purpose previous = purpose_switch(thread, PURPOSE_LOG);
  for (size_t i = 0; i < count; ++i) log_collect(thread, ranges[i].address, ranges[i].bytes);
  for (size_t i = 0; i < thread->deferred_count; ++i)
    log_collect(thread, thread->deferred[i].word, sizeof(uint64_t));
  for (size_t i = 0; i < thread->foreseen_count; ++i)
    log_collect(thread, thread->foreseen[i], sizeof(uint64_t));
  log_write(thread);

  purpose_switch(thread, PURPOSE_DATA_FLUSH);
  for (size_t i = 0; i < thread->to_log_count; ++i) flush_later(thread, thread->to_log[i], 1);
  purpose_switch(thread, previous);

  thread->to_log_count = 0;
  thread->foreseen_count = 0;
  for (size_t i = 0; i < thread->deferred_count; ++i)
    *thread->deferred[i].word = thread->deferred[i].value;
  thread->deferred_count = 0;
}

#endif

void pm_log_ranges(const pm_range* ranges, size_t count) {
  struct thread* thread = &this_thread;
  if (thread->depth == 0) fatal("pm_log: not inside a region");
  struct pm_pool* pool = thread->pool;
  const uintptr_t begin = (uintptr_t)pool->first_chunk, end = (uintptr_t)pool->start + pool->bytes;
  for (size_t i = 0; i < count; ++i) {
    uintptr_t address = (uintptr_t)ranges[i].address;
    if (address < begin || address > end || ranges[i].bytes > end - address)
      fatal("pm_log: %zu bytes at %p are not in the region's pool", ranges[i].bytes,
            ranges[i].address);
  }
  region_log(thread, ranges, count);
}

void pm_log(const void* address, size_t bytes) { pm_log_ranges(&(pm_range){address, bytes}, 1); }

void pm_fence_regions(void) { mark(MARK_FENCE_REGIONS, 0, 0); }

void pm_flush(const void* address, size_t bytes) {
  persist_flush(address, lines_of(address, bytes));
}

void pm_order(void) { persist_fence(FENCE_ORDER); }
void pm_durable(void) { persist_fence(FENCE_DURABLE); }
