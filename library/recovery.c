/* Recovery undoes unfinished regions, or redoes committed regions that may not be in place yet. The
 * thread's commit line determines which of the two applies, whichever log this build has.
 *
 * Recovery works on an image at any address, since the log identifies lines by number. It may be
 * interrupted at any point and restarted: it writes the same contents each time, and retires the
 * regions' numbers only when the contents are durable.
 *
 * Recovery retires the number of every thread that has a log, even if there was nothing to undo. A
 * torn first record may hide whole records behind it, and no later region may have the number that
 * would make these records valid again. */
#include "recovery.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "persist.h"

uint64_t superblock_checksum(const struct superblock* superblock) {
  uint64_t hash = 0;
  for (const uint64_t* word = &superblock->bytes; word < &superblock->checksum; ++word)
    hash = (hash ^ *word) * UINT64_C(0x9e3779b97f4a7c15) + 1;
  return hash;
}

bool superblock_unfinished(const struct superblock* superblock, uint64_t bytes, uint64_t base) {
  if (superblock->magic != 0) return false;
  struct superblock expected = {.bytes = bytes,
                                .base = base,
                                .threads = PM_MAX_THREADS,
                                .shelves = SHELVES,
                                .chunk_bytes = CHUNK_BYTES};
  expected.checksum = superblock_checksum(&expected);
  const uint64_t *found = (const uint64_t*)superblock, *full = (const uint64_t*)&expected;
  bool unfinished = true;
  for (size_t i = 0; i < sizeof expected / sizeof *full; ++i)
    unfinished = unfinished && (found[i] == 0 || found[i] == full[i]);
  return unfinished;
}

bool superblock_check(const struct superblock* superblock, uint64_t bytes, const char* name) {
  if (superblock->magic != POOL_MAGIC) {
    set_error("%s is not a pmemsim/pm.h pool", name);
    return false;
  }
  if (superblock->checksum != superblock_checksum(superblock)) {
    set_error("%s is damaged: the checksum of its superblock is wrong", name);
    return false;
  }
  if (superblock->bytes != bytes) {
    set_error(
        "%s has %llu bytes, but its superblock states %llu: the file was truncated or "
        "extended",
        name, (unsigned long long)bytes, (unsigned long long)superblock->bytes);
    return false;
  }
  if (superblock->threads != PM_MAX_THREADS || superblock->shelves != SHELVES ||
      superblock->chunk_bytes != CHUNK_BYTES) {
    set_error("%s was created by a version of the library with another layout", name);
    return false;
  }
  return true;
}

/* ---- The logs -------------------------------------------------------------------------------- */

static const struct chunk_line* chunk_table(const unsigned char* start) {
  return (const struct chunk_line*)(start + CHUNK_TABLE_OFFSET);
}

static bool is_log(uint64_t use) { return chunk_use_kind(use) == CHUNK_LOG; }

void segments_free(struct segments segments[PM_MAX_THREADS]) {
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) {
    free(segments[thread].chunk);
    segments[thread] = (struct segments){0};
  }
}

bool segments_find(const unsigned char* start, uint64_t bytes, const char* name,
                   struct segments segments[PM_MAX_THREADS]) {
  const struct chunk_line* table = chunk_table(start);
  const uint64_t chunks = pool_chunks(bytes);
  memset(segments, 0, PM_MAX_THREADS * sizeof *segments);
  for (uint64_t chunk = 0; chunk < chunks; ++chunk)
    if (is_log(table[chunk].use) && chunk_use_thread(table[chunk].use) < PM_MAX_THREADS)
      ++segments[chunk_use_thread(table[chunk].use)].count;
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) {
    if (segments[thread].count == 0) continue;
    segments[thread].chunk = malloc(segments[thread].count * sizeof(uint32_t));
    if (!segments[thread].chunk) fatal("out of memory");
    memset(segments[thread].chunk, 0xff, segments[thread].count * sizeof(uint32_t));
  }
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const uint64_t use = table[chunk].use;
    if (!is_log(use)) continue;
    const unsigned thread = chunk_use_thread(use);
    if (thread >= PM_MAX_THREADS || chunk_use_count(use) >= segments[thread].count ||
        segments[thread].chunk[chunk_use_count(use)] != UINT32_MAX) {
      set_error("%s is damaged: chunk %llu is not a valid part of a thread's log", name,
                (unsigned long long)chunk);
      segments_free(segments);
      return false;
    }
    segments[thread].chunk[chunk_use_count(use)] = (uint32_t)chunk;
  }
  return true;
}

/* Returns the record at a location of a thread's log if it is valid, and sets the next location. */
static const struct record* read_record(const unsigned char* start, uint64_t bytes,
                                        const struct segments* log, uint64_t region,
                                        uint32_t* segment, uint32_t* line) {
  if (CHUNK_LINES - *line < 2) {
    ++*segment;
    *line = 0;
  }
  if (*segment >= log->count) return NULL;
  const uint64_t offset = first_chunk_offset(bytes) + (uint64_t)log->chunk[*segment] * CHUNK_BYTES +
                          (uint64_t)*line * PM_LINE_BYTES;
  const struct record* record = (const struct record*)(start + offset);
  if (record->region != region || record->lines == 0 || record->lines > RECORD_LINES ||
      record->lines >= CHUNK_LINES - *line || record->checksum != record_checksum(record, offset))
    return NULL;
  *line += 1 + record->lines;
  return record;
}

/* Writes the old contents back. Returns 1 if the log has any, 0 if it has none, -1 if a line
 * doesn't exist (no crash can cause that, since the record's checksum is right). */
static int restore(unsigned char* start, uint64_t bytes, const char* name,
                   const struct segments* log, unsigned thread, uint64_t region) {
  const struct record** records = NULL;
  size_t count = 0, capacity = 0;
  uint32_t segment = 0, line = log_first_line(thread);
  const struct record* record;
  while ((record = read_record(start, bytes, log, region, &segment, &line))) {
    array_reserve(&records, count, &capacity, sizeof *records);
    records[count++] = record;
  }
  int result = count > 0;
  while (count > 0) {
    record = records[--count];
    for (uint32_t i = record->lines; i-- > 0;) {
      if (record->line[i] >= bytes / PM_LINE_BYTES) {
        set_error("%s is damaged: a log refers to line %u, which is outside the pool", name,
                  (unsigned)record->line[i]);
        result = -1;
        continue;
      }
      unsigned char* target = start + (uint64_t)record->line[i] * PM_LINE_BYTES;
      memcpy(target, record + 1 + i, PM_LINE_BYTES);
      persist_flush(target, 1);
    }
  }
  free(records);
  return result;
}

/* Stores the values of the log's entries. Returns false if they can't be a region's. */
static bool redo(unsigned char* start, uint64_t bytes, const char* name, const struct segments* log,
                 unsigned thread, uint64_t entries) {
  const uint64_t first = first_redo_entry(thread), end = first + entries;
  if (entries > log->count * CHUNK_ENTRIES || end > log->count * CHUNK_ENTRIES) {
    set_error("%s is damaged: a log has fewer entries than were committed", name);
    return false;
  }
  for (uint64_t i = first; i < end; ++i) {
    const unsigned char* chunk =
        start + first_chunk_offset(bytes) + (uint64_t)log->chunk[i / CHUNK_ENTRIES] * CHUNK_BYTES;
    const struct redo_entry* entry = (const struct redo_entry*)chunk + i % CHUNK_ENTRIES;
    if (entry->offset % sizeof entry->value != 0 || entry->offset >= bytes ||
        entry->offset < offsetof(struct superblock, root)) {
      set_error("%s is damaged: a log refers to offset %llu, which is not that of a word", name,
                (unsigned long long)entry->offset);
      return false;
    }
    memcpy(start + entry->offset, &entry->value, sizeof entry->value);
    persist_flush(start + entry->offset, 1);
  }
  return true;
}

int roll_back(unsigned char* start, uint64_t bytes, const char* name,
              const struct segments segments[PM_MAX_THREADS]) {
  struct commit_line* commit = (struct commit_line*)(start + COMMIT_OFFSET);
  int unfinished = 0;
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) {
    if (segments[thread].count == 0) continue;
    if (commit[thread].to_redo > 0) {
      if (!redo(start, bytes, name, &segments[thread], thread, commit[thread].to_redo)) return -1;
      ++unfinished;
      continue;
    }
    int restored =
        restore(start, bytes, name, &segments[thread], thread, commit[thread].committed + 1);
    if (restored < 0) return -1;
    unfinished += restored;
  }
  persist_fence(FENCE_ORDER);
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) {
    if (segments[thread].count == 0) continue;
    ++commit[thread].committed;
    commit[thread].to_redo = 0;
    persist_flush(&commit[thread], 1);
  }
  persist_fence(FENCE_DURABLE);
  return unfinished;
}

int pm_recover_image(void* image, uint64_t bytes) {
  const char* name = "the image";
  struct segments segments[PM_MAX_THREADS];
  if ((uintptr_t)image % PM_LINE_BYTES != 0 || pool_chunks(bytes) == 0) {
    set_error("the image is not aligned to %d bytes or is too small to be a pool", PM_LINE_BYTES);
    return -1;
  }
  if (!superblock_check(image, bytes, name) || !segments_find(image, bytes, name, segments))
    return -1;
  int unfinished = roll_back(image, bytes, name, segments);
  segments_free(segments);
  return unfinished;
}
