/* State that the library keeps in ordinary memory: it is rebuilt from the pool after a crash.
 *
 * Who may call whom: each file calls only files that are named before it (a test compares).
 *   error, persist, roi  messages; the hardware; the recorder
 *   thread               the thread's index and its arrays
 *   chunks               the set of chunks in use
 *   hints, log           the undo log; empty in a build with the redo log
 *   redo                 the redo log; empty in a build with the undo log
 *   changes              the logging and the flushes of a region
 *   shelves              a thread's free blocks
 *   region               pm_thread, pm_begin and pm_end, exchange with the depots
 *   allocator            pm_alloc and pm_free
 *   recovery, pool       pm_open and pm_close */
#ifndef PMEMSIM_LIBRARY_INTERNAL_H
#define PMEMSIM_LIBRARY_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "pmemsim/pm.h"
#include "pool_layout.h"
#include "segments.h"

/* Rarely executed functions stay calls, so that the code around them stays short. Recordings count
 * the instructions that the compiler generates for this library: the attribute keeps these calls,
 * whichever file defines the function. */
#define OUT_OF_LINE __attribute__((noinline))
#ifdef __clang__
#define CALL_OUT_OF_LINE [[clang::noinline]]
#else
#define CALL_OUT_OF_LINE
#endif

/* ---- Pools (pool.c) -------------------------------------------------------------------------- */

/* A volatile copy of the shelf's lines in PM: allocating reads PM only where a block may come from
 * another thread. Only the thread that owns the arena uses it. */
struct shelf {
  uint64_t next, end;
  struct magazine** chain;
  uint32_t magazines;
  uint32_t current; /* the magazine that is being emptied and filled */
  uint32_t blocks;  /* blocks in the current magazine */
  uint32_t frees;   /* blocks that the current region frees, not yet in a magazine */
};

struct arena {
  struct shelf shelves[SHELVES];
  struct segments log;
  uint32_t short_of;   /* bit per size class: few blocks are left */
  uint32_t can_donate; /* bit per size class: a full magazine can be donated */
  bool balancing;      /* true while magazines are exchanged with the depots */
};

struct pm_pool {
  unsigned char* start;
  uint64_t bytes;
  int file; /* file descriptor; -1: anonymous memory */
  unsigned rolled_back;

  struct superblock* superblock;
  struct commit_line* commit;
  struct shelf_line* shelves; /* dimensions: [thread][SHELVES] */
  struct depot_line* depots;
  struct chunk_line* chunk_table;
  unsigned char* first_chunk;
  uint64_t chunks;

  struct arena arenas[PM_MAX_THREADS];

  /* A region takes chunks and magazines immediately, and releases them when it has committed. So
   * two unfinished regions never write to the same line of the chunk table or of a depot. */
  pthread_mutex_t chunk_lock;
  unsigned char* chunk_taken;
  uint64_t chunk_cursor;
  pthread_mutex_t depot_lock[BLOCK_CLASSES];
  uint32_t depot_magazines[BLOCK_CLASSES]; /* accessed atomically */
  pthread_mutex_t root_lock;
};

static inline struct shelf_line* shelf_line(struct pm_pool* pool, unsigned thread, unsigned shelf) {
  return &pool->shelves[thread * SHELVES + shelf];
}
static inline unsigned char* chunk_address(struct pm_pool* pool, uint64_t chunk) {
  return pool->first_chunk + chunk * CHUNK_BYTES;
}
static inline uint32_t line_number(const struct pm_pool* pool, const void* address) {
  return (uint32_t)(((uintptr_t)address - (uintptr_t)pool->start) / PM_LINE_BYTES);
}

/* ---- Threads (thread.c) ---------------------------------------------------------------------- */

/* Index of what the region has logged: a hash table; a new generation empties it. */
struct log_index {
  uint64_t* slot; /* generation << 32 | line number (undo) or index of the log's entry (redo) */
  uint32_t capacity, count, generation;
};

struct line_run {
  uint32_t first, count;
};

struct deferred_store {
  uint64_t* word;
  uint64_t value;
};

struct pending_free {
  uint64_t block;
  unsigned shelf;
};

struct chunk_run {
  uint64_t first, count;
};

struct thread {
  int index; /* the thread's index; -1: none yet */
  unsigned depth;
  struct pm_pool* pool; /* the current region's pool */
  enum purpose purpose;
  uint32_t hints;

  /* The log of the current region. */
  struct log_index logged;
  uint32_t* to_log; /* lines collected for the next records */
  size_t to_log_count, to_log_capacity;
  uint32_t segment, segment_line; /* location of the next record */
  bool has_records;

  /* The lines to flush at the region's end. */
  struct line_run* to_flush;
  size_t to_flush_count, to_flush_capacity;

  /* The allocator's changes, which are deferred to the next log fence. Words that it will probably
   * change at the region's end. Blocks that the region frees. */
  struct deferred_store* deferred;
  size_t deferred_count, deferred_capacity;
  uint64_t** foreseen;
  size_t foreseen_count, foreseen_capacity;
  struct pending_free* frees;
  size_t frees_count, frees_capacity;
  struct chunk_run* released;
  size_t released_count, released_capacity;
};

extern _Thread_local struct thread this_thread;

/* Gives the calling thread an index if it has none. */
void thread_attach(void);

/* Gives the thread this index. False, with an error, if the thread has another index or the index
 * is taken. */
bool thread_attach_as(unsigned index);

/* Grows the array so that it can hold one more item: array points to the array's pointer. */
void array_reserve(void* array, size_t count, size_t* capacity, size_t item_bytes);

static inline enum purpose purpose_switch(struct thread* thread, enum purpose purpose) {
  enum purpose previous = thread->purpose;
  thread->purpose = purpose;
  mark(MARK_PURPOSE, purpose, 0);
  return previous;
}

/* ---- Errors (error.c) ------------------------------------------------------------------------ */

/* Sets what pm_error() returns. */
__attribute__((format(printf, 1, 2))) void set_error(const char* format, ...);

/* Reports a breach of the interface and ends the program. */
__attribute__((format(printf, 1, 2), noreturn)) void fatal(const char* format, ...);

/* ---- The build's log: undo (log.c), or redo with PM_REDO_LOG (redo.c) ----------------------- */

/* Returns the checksum of an undo log's record. */
uint64_t record_checksum(const struct record* record, uint64_t offset);

#ifdef PM_REDO_LOG
/* Stores to a word of PM, and loads one, as the current region sees it. */
void redo_store(struct thread* thread, uint64_t* word, uint64_t value);
uint64_t redo_load(struct thread* thread, const uint64_t* word);

/* Fills memory, whole words, with zeros. */
void redo_clear(struct thread* thread, void* memory, size_t bytes);
#else
/* Adds the lines of a range to what the next log_write saves, unless the region has saved them. */
void log_collect(struct thread* thread, const void* address, size_t bytes);

/* Saves the collected lines and fences; does nothing if there are none. */
void log_write(struct thread* thread);
#endif

/* Makes the region durable and empties the log; does nothing if the region logged nothing. */
void log_commit(struct thread* thread);

/* Gives the thread's log its first segment, if it has none. */
bool log_prepare(struct pm_pool* pool, unsigned index);

/* ---- Allocator (allocator.c) ----------------------------------------------------------------- */

/* Checks the pool's contents and builds the state in ordinary memory from them. */
bool allocator_open(struct pm_pool* pool, const char* name);
void allocator_close(struct pm_pool* pool);

#endif
