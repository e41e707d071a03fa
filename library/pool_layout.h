/* The contents of a pool's file, byte for byte. docs/reference/pools.md explains it.
 *
 *   superblock        one page; all zero in a file that is not yet a pool
 *   commit lines      one per thread index: the number of its last finished region
 *   shelves           one line per thread index and size class: the thread's free memory
 *   depots            one line per size class: free memory in transfer between threads
 *   chunk table       one line per chunk: the use of the chunk
 *   chunks            64 KiB each: blocks of one size class, log segments, large allocations
 *
 * All zero is the valid empty state of everything but the superblock. Data that different threads
 * may change at the same time is in different lines, because the undo log saves whole lines. */
#ifndef PMEMSIM_LIBRARY_LAYOUT_H
#define PMEMSIM_LIBRARY_LAYOUT_H

#include <stdint.h>

#include "pmemsim/pm.h"

#define POOL_MAGIC UINT64_C(0x334c4f4f504d5021) /* "!PMPOOL3" in the file */
#define POOL_PAGE_BYTES 4096
#define CHUNK_BYTES (64 * 1024)
#define CHUNK_LINES (CHUNK_BYTES / PM_LINE_BYTES)
#define POOL_MAX_BYTES (UINT64_C(1) << 38) /* line numbers have 32 bits */

/* Sizes in lines: 1, 2, ... 8, then four per doubling up to 512; and one class for magazines. */
#define BLOCK_CLASSES 32
#define MAGAZINE_CLASS BLOCK_CLASSES
#define SHELVES (BLOCK_CLASSES + 1)
#define MAX_BLOCK_LINES 512

struct superblock {
  uint64_t magic; /* written last */
  uint64_t bytes; /* size of the whole pool */
  uint64_t base;  /* the address at which the pool must be mapped */
  uint64_t threads, shelves, chunk_bytes;
  uint64_t checksum; /* checksum of the fields above */
  uint64_t unused;

  uint64_t root; /* address of the root object, 0: none yet */
  uint64_t root_bytes;
};

/* Undo log: a region's number is the committed number plus one; its commit stores that number. Redo
 * log: to_redo is the number of log entries of a region that has committed and may not be in place
 * yet; 0: none. */
struct commit_line {
  uint64_t committed;
  uint64_t to_redo;
  uint64_t unused[6];
};

/* The free memory of one size class that one thread owns: the rest of a chunk, and a chain of
 * magazines of free blocks. Magazines below the current one are full, those above it are
 * empty. */
struct shelf_line {
  uint64_t next, end; /* addresses in a chunk: memory never yet allocated */
  uint64_t bottom;    /* address of the bottom magazine, 0: none */
  uint64_t unused[5];
};

struct depot_line {
  uint64_t top; /* address of a full magazine; `above` leads to the next */
  uint64_t unused[7];
};

#define MAGAZINE_BLOCKS 63
struct magazine {
  uint64_t above;                  /* address of the next magazine of the chain, 0: none */
  uint64_t block[MAGAZINE_BLOCKS]; /* addresses of free blocks, filled from the front; 0: none */
};

enum chunk_kind {
  CHUNK_FREE = 0,
  CHUNK_BLOCKS = 1,
  CHUNK_LOG = 2,
  CHUNK_LARGE = 3, /* the first of a run; the others' lines are zero */
};

/* One word, so that a single store takes a chunk. Bits 0-7: chunk_kind; 8-15: size class (blocks);
 * 16-31: thread index (log); 32-63: position in the thread's log, or number of chunks in the run
 * (large). */
struct chunk_line {
  uint64_t use;
  uint64_t unused[7];
};

static inline uint64_t chunk_use(enum chunk_kind kind, uint64_t size_class, uint64_t thread,
                                 uint64_t count) {
  return (uint64_t)kind | size_class << 8 | thread << 16 | count << 32;
}
static inline unsigned chunk_use_kind(uint64_t use) { return use & 0xff; }
static inline unsigned chunk_use_class(uint64_t use) { return use >> 8 & 0xff; }
static inline unsigned chunk_use_thread(uint64_t use) { return use >> 16 & 0xffff; }
static inline uint32_t chunk_use_count(uint64_t use) { return (uint32_t)(use >> 32); }

/* Every region's log starts at this line of the thread's first segment. Threads start 256 bytes
 * apart, because segments are aligned: otherwise all logs would begin in the same bank of a memory
 * whose banks alternate by less than a page, and in the same sets of the caches (colouring, as in
 * Bonwick: The Slab Allocator, USENIX Summer 1994, 4.3). */
static inline uint32_t log_first_line(unsigned thread) { return thread % 16 * 4; }

/* The undo log of a thread is a list of segments (chunks). Every region starts at log_first_line()
 * of the first one. A record is a header and the old contents of up to seven lines; a segment with
 * fewer than two lines left is full. A record is valid if it has the number of the thread's
 * unfinished region and the right checksum, which also covers the record's location. So a stale or
 * half-written record is never valid. A record's validity depends on no other persistent word. */
#define RECORD_LINES 7
struct record {
  uint64_t checksum;           /* checksum of all that follows, contents of the lines included */
  uint64_t region;             /* the number of the region that wrote the record */
  uint32_t lines;              /* number of lines: 1 to RECORD_LINES */
  uint32_t line[RECORD_LINES]; /* line numbers, counted from the start of the pool */
  uint32_t unused[4];
};

/* The redo log of a thread uses the same segments and has an entry for every word that the region
 * has stored to. Entries are valid only if the commit line has their number, which is written when
 * the entries are durable. */
struct redo_entry {
  uint64_t offset; /* offset of the word from the start of the pool */
  uint64_t value;
};
#define CHUNK_ENTRIES (CHUNK_BYTES / sizeof(struct redo_entry))
/* The location of a redo log's first entry, counted from the front of the first segment. */
static inline uint32_t first_redo_entry(unsigned thread) {
  return log_first_line(thread) * (PM_LINE_BYTES / sizeof(struct redo_entry));
}

/* Offsets from the start of the pool. */
#define COMMIT_OFFSET POOL_PAGE_BYTES
#define SHELF_OFFSET (COMMIT_OFFSET + PM_MAX_THREADS * PM_LINE_BYTES)
#define DEPOT_OFFSET (SHELF_OFFSET + PM_MAX_THREADS * SHELVES * PM_LINE_BYTES)
#define CHUNK_TABLE_OFFSET (DEPOT_OFFSET + BLOCK_CLASSES * PM_LINE_BYTES)

/* The number of chunks in a pool of `bytes` bytes: each takes a chunk-table line and a chunk. */
static inline uint64_t pool_chunks(uint64_t bytes) {
  if (bytes < CHUNK_TABLE_OFFSET + CHUNK_BYTES) return 0;
  uint64_t chunks = (bytes - CHUNK_TABLE_OFFSET) / (CHUNK_BYTES + PM_LINE_BYTES);
  while (chunks > 0 &&
         bytes / CHUNK_BYTES <
             chunks + (CHUNK_TABLE_OFFSET + chunks * PM_LINE_BYTES + CHUNK_BYTES - 1) / CHUNK_BYTES)
    --chunks;
  return chunks;
}

/* Chunks are at the end of the pool, aligned to their size. */
static inline uint64_t first_chunk_offset(uint64_t bytes) {
  return (bytes / CHUNK_BYTES - pool_chunks(bytes)) * CHUNK_BYTES;
}

/* C11 and C++ then use the same spelling. */
#ifndef __cplusplus
#define static_assert _Static_assert
#endif
static_assert(sizeof(struct commit_line) == PM_LINE_BYTES, "one line");
static_assert(sizeof(struct shelf_line) == PM_LINE_BYTES, "one line");
static_assert(sizeof(struct depot_line) == PM_LINE_BYTES, "one line");
static_assert(sizeof(struct chunk_line) == PM_LINE_BYTES, "one line");
static_assert(sizeof(struct record) == PM_LINE_BYTES, "one line");
static_assert(sizeof(struct magazine) % PM_LINE_BYTES == 0, "whole lines");
static_assert(offsetof(struct superblock, root) == PM_LINE_BYTES, "root on a line of its own");

#endif
