/* The persistent allocator.
 *
 * Blocks of 33 size classes are cut from chunks of 64 KiB; larger allocations take whole chunks.
 * Every thread index has an arena with a shelf per size class. A shelf is the rest of a chunk and a
 * chain of magazines of free blocks (after Bonwick, "Magazines and Vmem", 2001). A thread allocates
 * from and frees to its own shelves, wherever a block came from: threads share neither locks nor
 * lines. A shelf with two magazines to spare donates one to the size class's depot; a shelf that
 * runs low takes a magazine from the depot. Each exchange is a small region between the program's
 * regions, under the depot's lock until that region has committed.
 *
 * All of this is in PM and is changed under the undo log. The allocator's stores are deferred
 * (`deferred`) to the program's next log fence, so that an allocation costs no fence of its own.
 * Blocks that a region frees enter a magazine at the region's end. Until then they keep their
 * contents, because the region may still be undone.
 *
 * This file has pm_alloc, pm_free and the check of a pool's contents when it is opened. Shelves are
 * filled in shelves.c, depots in region.c. */
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "chunks.h"
#include "internal.h"
#include "shelves.h"

/* ---- Allocating and freeing ------------------------------------------------------------------ */

static unsigned class_of(uint64_t lines) {
  if (lines <= 8) return (unsigned)lines - 1;
  const unsigned power = 63 - (unsigned)__builtin_clzll(lines - 1);
  return 8 + (power - 3) * 4 + (unsigned)((lines - 1) >> (power - 2)) - 4;
}

/* Takes the last block from the shelf's magazines. Its slot has no deferred store: blocks that the
 * region frees aren't in a magazine yet. */
static uint64_t pop_block(struct thread* thread, unsigned number) {
  struct shelf* shelf = shelf_of(thread, number);
  if (shelf->blocks == 0 && shelf->current > 0) {
    --shelf->current;
    shelf->blocks = MAGAZINE_BLOCKS;
  }
  if (shelf->current == 0 && shelf->blocks <= MAGAZINE_BLOCKS / 2)
    thread->pool->arenas[thread->index].short_of |= UINT32_C(1) << number;
  if (shelf->blocks == 0) return 0;
  uint64_t* slot = &shelf->chain[shelf->current]->block[--shelf->blocks];
  const uint64_t block = *slot;
  defer(thread, slot, 0);
  return block;
}

static void* allocate_chunks(struct thread* thread, uint64_t lines) {
  struct pm_pool* pool = thread->pool;
  const uint64_t count = (lines + CHUNK_LINES - 1) / CHUNK_LINES;
  int64_t first = count <= pool->chunks ? chunks_take(pool, count) : -1;
  if (first < 0) return NULL;
  chunk_defer(thread, first, chunk_use(CHUNK_LARGE, 0, 0, count));
  return chunk_address(pool, (uint64_t)first);
}

static void* allocate_block(struct thread* thread, uint64_t lines) {
  const unsigned number = class_of(lines);
  uint64_t block = pop_block(thread, number);
  if (!block) block = cut_block(thread, number);
  return (void*)(uintptr_t)block;
}

void* pm_alloc(pm_pool* pool, size_t bytes) {
  struct thread* thread = &this_thread;
  const bool alone = thread->depth == 0;
  if (alone)
    pm_begin(pool);
  else if (thread->pool != pool)
    fatal("pm_alloc: the enclosing region belongs to another pool");
  const uint64_t lines = bytes == 0 ? 1 : bytes / PM_LINE_BYTES + (bytes % PM_LINE_BYTES != 0);
  void* memory =
      lines > MAX_BLOCK_LINES ? allocate_chunks(thread, lines) : allocate_block(thread, lines);
  if (memory) {
    mark(MARK_ALLOCATE, (uintptr_t)memory, bytes);
    if (!alone) flush_at_end(thread, memory, lines * PM_LINE_BYTES);
  } else {
    set_error("the pool is full: it has no free space for %zu bytes", bytes);
  }
  if (alone) pm_end();
  return memory;
}

static void free_in_region(struct thread* thread, unsigned char* memory) {
  struct pm_pool* pool = thread->pool;
  if (memory < pool->first_chunk || memory >= pool->start + pool->bytes)
    fatal("pm_free: %p is not in the pool", (void*)memory);
  const uint64_t chunk = (uint64_t)(memory - pool->first_chunk) / CHUNK_BYTES;
  const uint64_t offset = (uint64_t)(memory - pool->first_chunk) % CHUNK_BYTES;
  const uint64_t use = future_value(thread, &pool->chunk_table[chunk].use);
  const unsigned number = chunk_use_class(use);
  if (chunk_use_kind(use) == CHUNK_BLOCKS && number < BLOCK_CLASSES &&
      offset % block_bytes(number) == 0) {
    array_reserve(&thread->frees, thread->frees_count, &thread->frees_capacity,
                  sizeof *thread->frees);
    thread->frees[thread->frees_count++] = (struct pending_free){(uintptr_t)memory, number};
    struct shelf* shelf = shelf_of(thread, number);
    const uint32_t slot = shelf->blocks + shelf->frees++;
    if (shelf->magazines > 0 && slot < MAGAZINE_BLOCKS)
      foresee(thread, &shelf->chain[shelf->current]->block[slot]);
  } else if (chunk_use_kind(use) == CHUNK_LARGE && offset == 0) {
    chunk_defer(thread, chunk, 0);
    array_reserve(&thread->released, thread->released_count, &thread->released_capacity,
                  sizeof *thread->released);
    thread->released[thread->released_count++] = (struct chunk_run){chunk, chunk_use_count(use)};
  } else {
    fatal("pm_free: %p is not the start of an allocation", (void*)memory);
  }
  mark(MARK_FREE, (uintptr_t)memory, 0);
}

void pm_free(pm_pool* pool, void* memory) {
  struct thread* thread = &this_thread;
  if (!memory) return;
  const bool alone = thread->depth == 0;
  if (alone)
    pm_begin(pool);
  else if (thread->pool != pool)
    fatal("pm_free: the enclosing region belongs to another pool");
  free_in_region(thread, memory);
  if (alone) pm_end();
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool damaged(const char* name, const char* what, uint64_t address) {
  set_error("%s is damaged: %s at %#llx is invalid", name, what, (unsigned long long)address);
  return false;
}

static bool is_block(const struct pm_pool* pool, uint64_t address, unsigned number) {
  const uint64_t begin = (uintptr_t)pool->first_chunk;
  if (address < begin || address >= (uintptr_t)pool->start + pool->bytes) return false;
  const uint64_t use = pool->chunk_table[(address - begin) / CHUNK_BYTES].use;
  return chunk_use_kind(use) == CHUNK_BLOCKS && chunk_use_class(use) == number &&
         (address - begin) % CHUNK_BYTES % block_bytes(number) == 0;
}

static bool open_chunks(struct pm_pool* pool, const char* name) {
  for (uint64_t chunk = 0; chunk < pool->chunks; ++chunk) {
    const uint64_t use = pool->chunk_table[chunk].use;
    uint64_t count = 1;
    if (use == 0) continue;
    if (chunk_use_kind(use) == CHUNK_LARGE) count = chunk_use_count(use);
    if (chunk_use_kind(use) > CHUNK_LARGE || chunk_use_class(use) >= SHELVES || count == 0 ||
        count > pool->chunks - chunk)
      return damaged(name, "chunk", (uintptr_t)chunk_address(pool, chunk));
    for (uint64_t i = 1; i < count; ++i)
      if (pool->chunk_table[chunk + i].use != 0)
        return damaged(name, "chunk", (uintptr_t)chunk_address(pool, chunk + i));
    memset(pool->chunk_taken + chunk, 1, count);
    chunk += count - 1;
  }
  return true;
}

/* Reads a chain of magazines, in which blocks fill the slots from the bottom without gaps. */
static bool open_chain(struct pm_pool* pool, const char* name, unsigned number, uint64_t bottom,
                       struct shelf* shelf) {
  bool more = true;
  for (uint64_t address = bottom; address; address = shelf->chain[shelf->magazines - 1]->above) {
    if (!is_block(pool, address, MAGAZINE_CLASS) ||
        shelf->magazines > pool->bytes / sizeof(struct magazine))
      return damaged(name, "magazine", address);
    struct magazine* magazine = (struct magazine*)(uintptr_t)address;
    chain_insert(shelf, shelf->magazines, magazine);
    for (unsigned slot = 0; slot < MAGAZINE_BLOCKS; ++slot) {
      if (magazine->block[slot] == 0) {
        more = false;
        continue;
      }
      if (!more || !is_block(pool, magazine->block[slot], number))
        return damaged(name, "magazine", address);
      shelf->current = shelf->magazines - 1;
      shelf->blocks = slot + 1;
    }
  }
  return true;
}

static bool open_shelf(struct pm_pool* pool, const char* name, unsigned thread, unsigned number) {
  const struct shelf_line* line = shelf_line(pool, thread, number);
  struct shelf* shelf = &pool->arenas[thread].shelves[number];
  shelf->next = line->next;
  shelf->end = line->end;
  const uint64_t bytes = block_bytes(number);
  if (shelf->end != 0 &&
      (shelf->next > shelf->end || (shelf->end - shelf->next) % bytes != 0 ||
       !is_block(pool, shelf->end - bytes, number) || shelf->end - shelf->next > CHUNK_BYTES ||
       (shelf->next != shelf->end && !is_block(pool, shelf->next, number))))
    return damaged(name, "shelf", (uintptr_t)line);
  return open_chain(pool, name, number, line->bottom, shelf);
}

static bool open_depot(struct pm_pool* pool, const char* name, unsigned number) {
  struct shelf all = {0};
  bool good = open_chain(pool, name, number, pool->depots[number].top, &all);
  if (good && all.magazines > 0 &&
      (all.current != all.magazines - 1 || all.blocks != MAGAZINE_BLOCKS))
    good = damaged(name, "depot", (uintptr_t)&pool->depots[number]);
  pool->depot_magazines[number] = all.magazines;
  free(all.chain);
  return good;
}

bool allocator_open(struct pm_pool* pool, const char* name) {
  pool->chunk_taken = calloc(pool->chunks, 1);
  if (!pool->chunk_taken) fatal("out of memory");
  pthread_mutex_init(&pool->chunk_lock, NULL);
  for (unsigned number = 0; number < BLOCK_CLASSES; ++number)
    pthread_mutex_init(&pool->depot_lock[number], NULL);
  if (!open_chunks(pool, name)) return false;
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread)
    for (unsigned number = 0; number < SHELVES; ++number)
      if (!open_shelf(pool, name, thread, number)) return false;
  for (unsigned number = 0; number < BLOCK_CLASSES; ++number)
    if (!open_depot(pool, name, number)) return false;
  return true;
}

void allocator_close(struct pm_pool* pool) {
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread)
    for (unsigned number = 0; number < SHELVES; ++number)
      free(pool->arenas[thread].shelves[number].chain);
  free(pool->chunk_taken);
}
