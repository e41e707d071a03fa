/* A region's changes (changes.c): logged before the store, flushed at the region's end.
 *
 * The allocator defers its stores (`deferred`) to the program's next log fence, so allocating costs
 * no fence of its own. With the redo log (redo.c) all stores are deferred there. */
#ifndef PMEMSIM_LIBRARY_CHANGES_H
#define PMEMSIM_LIBRARY_CHANGES_H

#include "internal.h"

/* Does the same as pm_log_ranges without checking the ranges: the allocator's own data are outside
 * the chunks. */
void region_log(struct thread* thread, const pm_range* ranges, size_t count);

#ifdef PM_REDO_LOG

#define region_clear redo_clear
#define region_set(word, value) redo_store(&this_thread, &(word), value)

/* Does nothing: every store goes through the redo log, which needs no other flushes. */
static inline void flush_at_end(struct thread* thread, const void* memory, uint64_t bytes) {
  (void)thread, (void)memory, (void)bytes;
}

static inline void defer(struct thread* thread, uint64_t* word, uint64_t value) {
  redo_store(thread, word, value);
}

static inline uint64_t future_value(struct thread* thread, const uint64_t* word) {
  return redo_load(thread, word);
}

static inline void foresee(struct thread* thread, uint64_t* word) { (void)thread, (void)word; }

#else

/* Clear memory that the region has allocated, and set a word that it has logged. */
#define region_clear(thread, memory, bytes) memset(memory, 0, bytes)
#define region_set(word, value) ((word) = (value))

/* Adds lines to those that the region's end flushes. */
void flush_later(struct thread* thread, uint32_t first_line, uint32_t lines);

/* Memory that the region has allocated needs no log entry, but its contents must be durable before
 * the region commits. */
static inline void flush_at_end(struct thread* thread, const void* memory, uint64_t bytes) {
  enum purpose previous = purpose_switch(thread, PURPOSE_DATA_FLUSH);
  flush_later(thread, line_number(thread->pool, memory),
              (uint32_t)((bytes + PM_LINE_BYTES - 1) / PM_LINE_BYTES));
  purpose_switch(thread, previous);
}

static inline void defer(struct thread* thread, uint64_t* word, uint64_t value) {
  array_reserve(&thread->deferred, thread->deferred_count, &thread->deferred_capacity,
                sizeof *thread->deferred);
  thread->deferred[thread->deferred_count++] = (struct deferred_store){word, value};
}

/* Returns the value of the word after the deferred stores. */
static inline uint64_t future_value(const struct thread* thread, const uint64_t* word) {
  for (size_t i = thread->deferred_count; i-- > 0;)
    if (thread->deferred[i].word == word) return thread->deferred[i].value;
  return *word;
}

/* Notes a word that will probably change at the region's end: the next log write includes it. */
static inline void foresee(struct thread* thread, uint64_t* word) {
  array_reserve(&thread->foreseen, thread->foreseen_count, &thread->foreseen_capacity,
                sizeof *thread->foreseen);
  thread->foreseen[thread->foreseen_count++] = word;
}

#endif

#endif
