/* The software redo log: new values of words, one log a thread (after Mnemosyne, Volos et al.,
 * ASPLOS 2011). The library has it instead of the undo log if it is compiled with PM_REDO_LOG.
 *
 * A region's stores go to the log alone, which is also its write set: an entry a word, found
 * through an index in ordinary memory. The region's loads search the log first. The region's end:
 *
 *   1  The entries are flushed; an ordering fence.
 *   2  The commit word gets the number of entries; flushed; an ordering fence. From here on the
 *      region survives a crash: recovery redoes it.
 *   3  The words are stored in place, and flushed; an ordering fence.
 *   4  The commit word says that nothing is to be redone; flushed; a durable fence.
 *
 * The durable fence is behind step 4, since the program releases its locks next. If a crash could
 * still redo the log, recovery would overwrite later stores of other threads. */
#ifdef PM_REDO_LOG

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "log_parts.h"
#include "persist.h"

/* ---- The write set --------------------------------------------------------------------------- */

static struct redo_entry* entry_at(const struct thread* thread, uint32_t number) {
  const struct segments* log = &thread->pool->arenas[thread->index].log;
  const uint32_t place = first_redo_entry((unsigned)thread->index) + number;
  return (struct redo_entry*)chunk_address(thread->pool, log->chunk[place / CHUNK_ENTRIES]) +
         place % CHUNK_ENTRIES;
}

/* Returns the slot that leads to the word's entry, or the free slot for it. */
static uint64_t* find_slot(const struct thread* thread, uint64_t offset) {
  const struct log_index* index = &thread->logged;
  uint32_t slot = (uint32_t)((offset * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (index->capacity - 1);
  while (index->slot[slot] >> 32 == index->generation &&
         entry_at(thread, (uint32_t)index->slot[slot])->offset != offset)
    slot = (slot + 1) & (index->capacity - 1);
  return &index->slot[slot];
}

static bool is_used(const struct thread* thread, const uint64_t* slot) {
  return *slot >> 32 == thread->logged.generation;
}

static void use(const struct thread* thread, uint64_t* slot, uint32_t entry) {
  *slot = (uint64_t)thread->logged.generation << 32 | entry;
}

OUT_OF_LINE static void grow_index(struct thread* thread) {
  struct log_index* index = &thread->logged;
  free(index->slot);
  index->capacity = index->capacity ? 2 * index->capacity : 256;
  index->generation = 1;
  index->slot = calloc(index->capacity, sizeof *index->slot);
  if (!index->slot) fatal("out of memory");
  for (uint32_t i = 0; i < index->count; ++i)
    use(thread, find_slot(thread, entry_at(thread, i)->offset), i);
}

static struct redo_entry* append(struct thread* thread, uint64_t offset) {
  struct pm_pool* pool = thread->pool;
  struct log_index* index = &thread->logged;
  if (2 * index->count >= index->capacity) grow_index(thread);
  const uint32_t place = first_redo_entry((unsigned)thread->index) + index->count;
  if (place >= pool->arenas[thread->index].log.count * CHUNK_ENTRIES &&
      !add_segment(pool, (unsigned)thread->index))
    fatal(
        "the pool is full and has no space for the redo log; the region has no effect when the "
        "pool is opened again");
  struct redo_entry* entry = entry_at(thread, index->count);
  entry->offset = offset;
  use(thread, find_slot(thread, offset), index->count++);
  return entry;
}

/* Returns the word's entry, or NULL. */
static struct redo_entry* find(const struct thread* thread, uint64_t offset) {
  if (thread->logged.count == 0) return NULL;
  const uint64_t* slot = find_slot(thread, offset);
  return is_used(thread, slot) ? entry_at(thread, (uint32_t)*slot) : NULL;
}

static uint64_t offset_of(const struct thread* thread, const uint64_t* word) {
  return (uint64_t)((const unsigned char*)word - thread->pool->start);
}

void redo_store(struct thread* thread, uint64_t* word, uint64_t value) {
  enum purpose previous = purpose_switch(thread, PURPOSE_LOG);
  const uint64_t offset = offset_of(thread, word);
  struct redo_entry* entry = find(thread, offset);
  if (!entry) entry = append(thread, offset);
  entry->value = value;
  purpose_switch(thread, previous);
}

/* Returns the word's value. If the word isn't in the log, the load counts as the program's. */
uint64_t redo_load(struct thread* thread, const uint64_t* word) {
  enum purpose previous = purpose_switch(thread, PURPOSE_LOG);
  const struct redo_entry* entry = find(thread, offset_of(thread, word));
  const uint64_t logged = entry ? entry->value : 0;
  purpose_switch(thread, previous);
  return entry ? logged : *word;
}

void redo_clear(struct thread* thread, void* memory, size_t bytes) {
  uint64_t* word = memory;
  for (size_t i = 0; i < bytes / sizeof *word; ++i) redo_store(thread, &word[i], 0);
}

/* ---- The program's accesses ------------------------------------------------------------------ */

/* The part of a word that an access touches: `bytes` bytes from byte `first` on. */
struct part {
  size_t first, bytes;
};

static struct part part_at(uintptr_t address, size_t rest) {
  const size_t first = address % sizeof(uint64_t), most = sizeof(uint64_t) - first;
  return (struct part){first, rest < most ? rest : most};
}

static bool is_word(const void* address, size_t bytes) {
  return bytes == sizeof(uint64_t) && (uintptr_t)address % sizeof(uint64_t) == 0;
}

static void read_parts(struct thread* thread, char* to, uintptr_t from, size_t bytes) {
  while (bytes > 0) {
    const struct part part = part_at(from, bytes);
    const uint64_t value = redo_load(thread, (const uint64_t*)(from - part.first));
    if (part.bytes == sizeof value)
      memcpy(to, &value, sizeof value);
    else
      memcpy(to, (const char*)&value + part.first, part.bytes);
    to += part.bytes;
    from += part.bytes;
    bytes -= part.bytes;
  }
}

static void write_parts(struct thread* thread, uintptr_t to, const char* from, size_t bytes) {
  while (bytes > 0) {
    const struct part part = part_at(to, bytes);
    uint64_t* word = (uint64_t*)(to - part.first);
    uint64_t value;
    if (part.bytes == sizeof value) {
      memcpy(&value, from, sizeof value);
    } else {
      value = redo_load(thread, word);
      memcpy((char*)&value + part.first, from, part.bytes);
    }
    redo_store(thread, word, value);
    to += part.bytes;
    from += part.bytes;
    bytes -= part.bytes;
  }
}

void pm_read(void* to, const void* from, size_t bytes) {
  struct thread* thread = &this_thread;
  if (thread->depth == 0) {
    memcpy(to, from, bytes);
  } else if (is_word(from, bytes)) {
    const uint64_t value = redo_load(thread, from);
    memcpy(to, &value, sizeof value);
  } else {
    read_parts(thread, to, (uintptr_t)from, bytes);
  }
}

static void check_range(const struct pm_pool* pool, const void* address, size_t bytes) {
  const uintptr_t begin = (uintptr_t)pool->first_chunk, end = (uintptr_t)pool->start + pool->bytes;
  if ((uintptr_t)address < begin || (uintptr_t)address > end || bytes > end - (uintptr_t)address)
    fatal("pm_write: %zu bytes at %p are not in the region's pool", bytes, address);
}

void pm_write(void* to, const void* from, size_t bytes) {
  struct thread* thread = &this_thread;
  if (thread->depth == 0) {
    memcpy(to, from, bytes);
    return;
  }
  check_range(thread->pool, to, bytes);
  if (is_word(to, bytes)) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
    redo_store(thread, to, value);
  } else {
    write_parts(thread, (uintptr_t)to, from, bytes);
  }
}

/* ---- Regions --------------------------------------------------------------------------------- */

/* Writes marks only: a redo log needs no declarations. */
void region_log(struct thread* thread, const pm_range* ranges, size_t count) {
  (void)thread;
  for (size_t i = 0; i < count; ++i)
    mark(MARK_LOG_RANGE, (uintptr_t)ranges[i].address, ranges[i].bytes);
}

static void flush_log(const struct thread* thread) {
  const uint32_t entries = thread->logged.count;
  const uint32_t in_first = CHUNK_ENTRIES - first_redo_entry((unsigned)thread->index);
  for (uint32_t first = 0, most = in_first; first < entries; most = CHUNK_ENTRIES) {
    const uint32_t here = entries - first < most ? entries - first : most;
    const uint64_t bytes = here * sizeof(struct redo_entry);
    persist_flush(entry_at(thread, first), (bytes + PM_LINE_BYTES - 1) / PM_LINE_BYTES);
    first += here;
  }
  persist_fence(FENCE_ORDER);
}

static void say_to_redo(const struct thread* thread, uint64_t entries, enum fence_meaning fence) {
  struct commit_line* commit = &thread->pool->commit[thread->index];
  commit->to_redo = entries;
  persist_flush(commit, 1);
  persist_fence(fence);
}

static void write_back(const struct thread* thread) {
  for (uint32_t i = 0; i < thread->logged.count; ++i) {
    const struct redo_entry* entry = entry_at(thread, i);
    *(uint64_t*)(thread->pool->start + entry->offset) = entry->value;
  }
}

static void flush_run(const struct pm_pool* pool, struct line_run run) {
  if (run.count > 0) persist_flush(pool->start + (uint64_t)run.first * PM_LINE_BYTES, run.count);
}

/* Flushes the written lines; adjacent entries for the same or adjacent lines share a call. */
static void flush_written(const struct thread* thread) {
  struct line_run run = {0, 0};
  for (uint32_t i = 0; i < thread->logged.count; ++i) {
    const uint32_t line = (uint32_t)(entry_at(thread, i)->offset / PM_LINE_BYTES);
    if (line - run.first < run.count) continue;
    if (run.count > 0 && line == run.first + run.count) {
      ++run.count;
      continue;
    }
    flush_run(thread->pool, run);
    run = (struct line_run){line, 1};
  }
  flush_run(thread->pool, run);
  persist_fence(FENCE_ORDER);
}

void log_commit(struct thread* thread) {
  if (thread->logged.count == 0) return;
  enum purpose previous = purpose_switch(thread, PURPOSE_LOG);
  flush_log(thread);
  purpose_switch(thread, PURPOSE_COMMIT);
  say_to_redo(thread, thread->logged.count, FENCE_ORDER);
  purpose_switch(thread, PURPOSE_PROGRAM);
  write_back(thread);
  purpose_switch(thread, PURPOSE_DATA_FLUSH);
  flush_written(thread);
  purpose_switch(thread, PURPOSE_RELEASE);
  say_to_redo(thread, 0, FENCE_DURABLE);
  log_index_clear(&thread->logged);
  purpose_switch(thread, previous);
}

#endif
