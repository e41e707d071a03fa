/* The software undo log of each thread: old contents of lines, in records of up to seven lines.
 *
 * A record costs its lines, written once; a batch of records costs one fence; a commit costs one
 * word and one fence. Nothing else needs to persist: a record counts if its region's number is the
 * thread's committed number plus one and its checksum is right. Until the commit word is durable,
 * the log holds everything needed to undo the region; from then on all its records are stale. The
 * next region overwrites these records only after the fence behind the commit word.
 *
 * All instructions of this file are marked as the log's, so that a recording can omit them. With
 * PM_REDO_LOG the build has another log (redo.c). */
#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "internal.h"
#include "persist.h"

/* Recovery needs these functions in either build. */
static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/* Four independent sums, because the latency of one would cost more than the flushes do. */
uint64_t record_checksum(const struct record* record, uint64_t offset) {
  uint64_t a = mix(record->region, record->lines);
  uint64_t b = mix(~record->region, offset);
  uint64_t c = 0, d = 0;
  for (uint32_t i = 0; i < record->lines; ++i) {
    const uint64_t* word = (const uint64_t*)(record + 1 + i);
    c = mix(c, record->line[i]); /* alone: if combined, changes could cancel out */
    a = mix(a, word[0]);
    b = mix(b, word[1]);
    c = mix(c, word[2]);
    d = mix(d, word[3]);
    a = mix(a, word[4]);
    b = mix(b, word[5]);
    c = mix(c, word[6]);
    d = mix(d, word[7]);
  }
  return mix(mix(mix(a, b), c), d);
}

#ifndef PM_REDO_LOG

#include "log_parts.h"

/* ---- Which lines the region has logged ------------------------------------------------------- */

static uint32_t first_slot(const struct log_index* set, uint32_t line) {
  return (uint32_t)((line * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (set->capacity - 1);
}

static void log_index_grow(struct log_index* set) {
  struct log_index larger = {.capacity = set->capacity ? 2 * set->capacity : 256, .generation = 1};
  larger.slot = calloc(larger.capacity, sizeof *larger.slot);
  if (!larger.slot) fatal("out of memory");
  for (uint32_t i = 0; i < set->capacity; ++i) {
    if (set->slot[i] >> 32 != set->generation) continue;
    uint32_t line = (uint32_t)set->slot[i];
    uint32_t slot = first_slot(&larger, line);
    while (larger.slot[slot]) slot = (slot + 1) & (larger.capacity - 1);
    larger.slot[slot] = UINT64_C(1) << 32 | line;
  }
  larger.count = set->count;
  free(set->slot);
  *set = larger;
}

/* Adds the line to the index. False if it was there already. */
static bool log_index_add(struct log_index* set, uint32_t line) {
  if (2 * set->count >= set->capacity) log_index_grow(set);
  uint64_t entry = (uint64_t)set->generation << 32 | line;
  uint32_t slot = first_slot(set, line);
  while (set->slot[slot] >> 32 == set->generation) {
    if (set->slot[slot] == entry) return false;
    slot = (slot + 1) & (set->capacity - 1);
  }
  set->slot[slot] = entry;
  ++set->count;
  return true;
}

void log_collect(struct thread* thread, const void* address, size_t bytes) {
  if (bytes == 0) return;
  uint32_t line = line_number(thread->pool, address);
  uint32_t last = line_number(thread->pool, (const char*)address + bytes - 1);
  for (; line <= last; ++line) {
    if (!log_index_add(&thread->logged, line)) continue;
    array_reserve(&thread->to_log, thread->to_log_count, &thread->to_log_capacity,
                  sizeof *thread->to_log);
    thread->to_log[thread->to_log_count++] = line;
  }
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The location of the next record, with space for its header and at least one line. */
static struct record* next_record(struct thread* thread) {
  struct pm_pool* pool = thread->pool;
  struct segments* log = &pool->arenas[thread->index].log;
  if (CHUNK_LINES - thread->segment_line < 2) {
    ++thread->segment;
    thread->segment_line = 0;
  }
  if (thread->segment == log->count && !add_segment(pool, (unsigned)thread->index))
    fatal(
        "the pool is full and has no space for the undo log; the region is rolled back when the "
        "pool is opened again");
  return (struct record*)chunk_address(pool, log->chunk[thread->segment]) + thread->segment_line;
}

void log_write(struct thread* thread) {
  struct pm_pool* pool = thread->pool;
  const uint32_t* line = thread->to_log;
  size_t left = thread->to_log_count;
  if (left == 0) return;
  uint64_t* committed = &pool->commit[thread->index].committed;
  uint64_t region = *committed + 1;
  if (!thread->has_records) {
    thread->segment = 0;
    thread->segment_line = log_first_line((unsigned)thread->index);
    /* Janus: the commit's address and value are known from the region's first record on. */
    pm_pre commit;
    pm_pre_init(&commit);
    pm_pre_both_val(&commit, committed, region);
  }
  while (left > 0) {
    struct record* record = next_record(thread);
    uint32_t lines = CHUNK_LINES - thread->segment_line - 1;
    if (lines > RECORD_LINES) lines = RECORD_LINES;
    if (lines > left) lines = (uint32_t)left;
    record->region = region;
    record->lines = lines;
    for (uint32_t i = 0; i < lines; ++i) {
      record->line[i] = line[i];
      memcpy(record + 1 + i, pool->start + (uint64_t)line[i] * PM_LINE_BYTES, PM_LINE_BYTES);
    }
    record->checksum = record_checksum(record, (uint64_t)((unsigned char*)record - pool->start));
    persist_flush(record, 1 + lines);
    thread->segment_line += 1 + lines;
    line += lines;
    left -= lines;
  }
  persist_fence(FENCE_ORDER);
  thread->has_records = true;
}

void log_commit(struct thread* thread) {
  if (!thread->has_records) return;
  enum purpose previous = purpose_switch(thread, PURPOSE_COMMIT);
  struct commit_line* commit = &thread->pool->commit[thread->index];
  ++commit->committed;
  persist_flush(commit, 1);
  persist_fence(FENCE_DURABLE);
  thread->has_records = false;
  log_index_clear(&thread->logged);
  purpose_switch(thread, previous);
}

#endif
