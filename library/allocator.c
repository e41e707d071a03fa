/* The persistent allocator.
 *
 * Blocks of 33 size classes are cut from chunks of 64 KiB; what is larger takes whole chunks. Every
 * thread index has an arena of its own: per size class a shelf, which is the rest of a chunk and a
 * chain of magazines of free blocks (after Bonwick, "Magazines and Vmem", 2001). A thread allocates
 * from and frees to its own shelves, wherever a block came from, so that threads share neither
 * locks nor lines. A shelf that has gathered two magazines to spare hands one to the size class's
 * depot, and one that runs low takes one from there, each in a small region of its own between the
 * program's regions, under the depot's lock until that region has committed.
 *
 * All of this stands in PM and is changed under the undo log. Its stores wait (`deferred`) for the
 * program's next log fence, so that an allocation costs no fence of its own. Blocks that a region
 * frees enter a magazine at its end: until then they must keep their contents, because the region
 * may still be undone. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "persist.h"

/* ---- Size classes ---------------------------------------------------------------------------- */

static unsigned class_of(uint64_t lines) {
  if (lines <= 8) return (unsigned)lines - 1;
  const unsigned power = 63 - (unsigned)__builtin_clzll(lines - 1);
  return 8 + (power - 3) * 4 + (unsigned)((lines - 1) >> (power - 2)) - 4;
}

static uint64_t block_bytes(unsigned shelf) {
  if (shelf == MAGAZINE_CLASS) return sizeof(struct magazine);
  if (shelf < 8) return (shelf + 1) * (uint64_t)PM_LINE_BYTES;
  const unsigned doubling = (shelf - 8) / 4, quarter = (shelf - 8) % 4;
  return (uint64_t)(5 + quarter) << (doubling + 1) << 6;
}

/* ---- Changes under the log ------------------------------------------------------------------- */

static void defer(struct thread* thread, uint64_t* word, uint64_t value) {
  array_reserve(&thread->deferred, thread->deferred_count, &thread->deferred_capacity,
                sizeof *thread->deferred);
  thread->deferred[thread->deferred_count++] = (struct deferred_store){word, value};
}

/* What the word holds once the deferred stores are made. */
static uint64_t future_value(const struct thread* thread, const uint64_t* word) {
  for (size_t i = thread->deferred_count; i-- > 0;)
    if (thread->deferred[i].word == word) return thread->deferred[i].value;
  return *word;
}

static void foresee(struct thread* thread, uint64_t* word) {
  array_reserve(&thread->foreseen, thread->foreseen_count, &thread->foreseen_capacity,
                sizeof *thread->foreseen);
  thread->foreseen[thread->foreseen_count++] = word;
}

/* Memory that the region has allocated needs no log entry, but its contents must be durable before
 * the region commits. */
static void flush_at_end(struct thread* thread, const void* memory, uint64_t bytes) {
  enum purpose previous = purpose_switch(thread, PURPOSE_DATA_FLUSH);
  flush_later(thread, line_number(thread->pool, memory),
              (uint32_t)((bytes + PM_LINE_BYTES - 1) / PM_LINE_BYTES));
  purpose_switch(thread, previous);
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static int64_t find_free_run(const struct pm_pool* pool, uint64_t from, uint64_t count) {
  uint64_t run = 0;
  for (uint64_t chunk = from; chunk < pool->chunks; ++chunk) {
    run = pool->chunk_taken[chunk] ? 0 : run + 1;
    if (run == count) return (int64_t)(chunk - count + 1);
  }
  return -1;
}

int64_t chunks_take(struct pm_pool* pool, uint64_t count) {
  pthread_mutex_lock(&pool->chunk_lock);
  int64_t first = find_free_run(pool, pool->chunk_cursor, count);
  if (first < 0) first = find_free_run(pool, 0, count);
  if (first >= 0) {
    memset(pool->chunk_taken + first, 1, count);
    pool->chunk_cursor = (uint64_t)first + count;
  }
  pthread_mutex_unlock(&pool->chunk_lock);
  return first;
}

static void chunks_release(struct pm_pool* pool, struct chunk_run run) {
  pthread_mutex_lock(&pool->chunk_lock);
  memset(pool->chunk_taken + run.first, 0, run.count);
  if (run.first < pool->chunk_cursor) pool->chunk_cursor = run.first;
  pthread_mutex_unlock(&pool->chunk_lock);
}

/* ---- Shelves --------------------------------------------------------------------------------- */

static struct shelf* shelf_of(struct thread* thread, unsigned shelf) {
  return &thread->pool->arenas[thread->index].shelves[shelf];
}

/* Cuts a block from the shelf's chunk, taking a new chunk if it is used up. */
static uint64_t cut_block(struct thread* thread, unsigned number) {
  struct pm_pool* pool = thread->pool;
  struct shelf* shelf = shelf_of(thread, number);
  struct shelf_line* line = shelf_line(pool, (unsigned)thread->index, number);
  const uint64_t bytes = block_bytes(number);
  if (shelf->next == shelf->end) {
    int64_t chunk = chunks_take(pool, 1);
    if (chunk < 0) return 0;
    defer(thread, &pool->chunk_table[chunk].use, chunk_use(CHUNK_BLOCKS, number, 0, 0));
    shelf->next = (uintptr_t)chunk_address(pool, (uint64_t)chunk);
    shelf->end = shelf->next + CHUNK_BYTES / bytes * bytes;
    defer(thread, &line->end, shelf->end);
  }
  const uint64_t block = shelf->next;
  shelf->next += bytes;
  defer(thread, &line->next, shelf->next);
  return block;
}

/* Takes the last block from the shelf's magazines. Its slot has no deferred store, because what the
 * region frees isn't in a magazine yet. */
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

static void chain_insert(struct shelf* shelf, uint32_t position, struct magazine* magazine) {
  struct magazine** grown = realloc(shelf->chain, (shelf->magazines + 1) * sizeof *shelf->chain);
  if (!grown) fatal("out of memory");
  shelf->chain = grown;
  memmove(grown + position + 1, grown + position, (shelf->magazines - position) * sizeof *grown);
  grown[position] = magazine;
  ++shelf->magazines;
}

/* Puts an empty magazine on top of the chain. False if the pool is full. */
static bool add_magazine(struct thread* thread, unsigned number) {
  struct shelf* shelf = shelf_of(thread, number);
  struct magazine* magazine = (struct magazine*)(uintptr_t)cut_block(thread, MAGAZINE_CLASS);
  if (!magazine) return false;
  memset(magazine, 0, sizeof *magazine);
  flush_at_end(thread, magazine, sizeof *magazine);
  uint64_t* link = shelf->magazines > 0
                       ? &shelf->chain[shelf->magazines - 1]->above
                       : &shelf_line(thread->pool, (unsigned)thread->index, number)->bottom;
  defer(thread, link, (uintptr_t)magazine);
  chain_insert(shelf, shelf->magazines, magazine);
  return true;
}

static void push_block(struct thread* thread, unsigned number, uint64_t block) {
  struct shelf* shelf = shelf_of(thread, number);
  if (shelf->magazines == 0 || shelf->blocks == MAGAZINE_BLOCKS) {
    const uint32_t next = shelf->magazines == 0 ? 0 : shelf->current + 1;
    /* In a full pool the block is lost: better than to fail where nothing can fail. */
    if (next == shelf->magazines && !add_magazine(thread, number)) return;
    shelf->current = next;
    shelf->blocks = 0;
  }
  defer(thread, &shelf->chain[shelf->current]->block[shelf->blocks++], block);
  if (shelf->current >= 2) thread->pool->arenas[thread->index].rich_in |= UINT32_C(1) << number;
}

/* ---- Depots ---------------------------------------------------------------------------------- */

/* Takes a full magazine from the depot and puts it under the shelf's others. */
static void refill(struct pm_pool* pool, unsigned index, unsigned number) {
  if (__atomic_load_n(&pool->depot_magazines[number], __ATOMIC_RELAXED) == 0) return;
  struct depot_line* depot = &pool->depots[number];
  struct shelf_line* line = shelf_line(pool, index, number);
  struct shelf* shelf = &pool->arenas[index].shelves[number];
  pthread_mutex_lock(&pool->depot_lock[number]);
  struct magazine* magazine = (struct magazine*)(uintptr_t)depot->top;
  if (magazine) {
    pm_begin(pool);
    region_log(&this_thread,
               (pm_range[]){{&depot->top, 8}, {&magazine->above, 8}, {&line->bottom, 8}}, 3);
    depot->top = magazine->above;
    magazine->above = line->bottom;
    line->bottom = (uintptr_t)magazine;
    pm_end();
    if (shelf->magazines > 0)
      ++shelf->current;
    else
      shelf->blocks = MAGAZINE_BLOCKS;
    chain_insert(shelf, 0, magazine);
    __atomic_fetch_sub(&pool->depot_magazines[number], 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&pool->depot_lock[number]);
}

/* Hands the shelf's bottom magazine, which is full, to the depot. */
static void donate(struct pm_pool* pool, unsigned index, unsigned number) {
  struct depot_line* depot = &pool->depots[number];
  struct shelf_line* line = shelf_line(pool, index, number);
  struct shelf* shelf = &pool->arenas[index].shelves[number];
  if (shelf->current < 2) return;
  struct magazine* magazine = shelf->chain[0];
  pthread_mutex_lock(&pool->depot_lock[number]);
  pm_begin(pool);
  region_log(&this_thread,
             (pm_range[]){{&depot->top, 8}, {&magazine->above, 8}, {&line->bottom, 8}}, 3);
  line->bottom = magazine->above;
  magazine->above = depot->top;
  depot->top = (uintptr_t)magazine;
  pm_end();
  --shelf->magazines;
  --shelf->current;
  memmove(shelf->chain, shelf->chain + 1, shelf->magazines * sizeof *shelf->chain);
  __atomic_fetch_add(&pool->depot_magazines[number], 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&pool->depot_lock[number]);
}

/* The depots' own regions come through here too, and must not go for another depot's lock. */
void allocator_before_region(struct pm_pool* pool, unsigned index) {
  struct arena* arena = &pool->arenas[index];
  if (arena->short_of == 0 || arena->balancing) return;
  arena->balancing = true;
  for (; arena->short_of; arena->short_of &= arena->short_of - 1)
    refill(pool, index, (unsigned)__builtin_ctz(arena->short_of));
  arena->balancing = false;
}

void allocator_after_region(struct thread* thread, struct pm_pool* pool) {
  struct arena* arena = &pool->arenas[thread->index];
  for (size_t i = 0; i < thread->released_count; ++i) chunks_release(pool, thread->released[i]);
  thread->released_count = 0;
  if (arena->rich_in == 0 || arena->balancing) return;
  arena->balancing = true;
  for (; arena->rich_in; arena->rich_in &= arena->rich_in - 1)
    donate(pool, (unsigned)thread->index, (unsigned)__builtin_ctz(arena->rich_in));
  arena->balancing = false;
}

/* ---- Allocating and freeing ------------------------------------------------------------------ */

static void* allocate_chunks(struct thread* thread, uint64_t lines) {
  struct pm_pool* pool = thread->pool;
  const uint64_t count = (lines + CHUNK_LINES - 1) / CHUNK_LINES;
  int64_t first = count <= pool->chunks ? chunks_take(pool, count) : -1;
  if (first < 0) return NULL;
  defer(thread, &pool->chunk_table[first].use, chunk_use(CHUNK_LARGE, 0, 0, count));
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
    set_error("the pool is full: it has no room for %zu bytes", bytes);
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
    defer(thread, &pool->chunk_table[chunk].use, 0);
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

void allocator_push_frees(struct thread* thread) {
  for (size_t i = 0; i < thread->frees_count; ++i) {
    shelf_of(thread, thread->frees[i].shelf)->frees = 0;
    push_block(thread, thread->frees[i].shelf, thread->frees[i].block);
  }
  thread->frees_count = 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool damaged(const char* name, const char* what, uint64_t address) {
  set_error("%s is damaged: %s at %#llx is impossible", name, what, (unsigned long long)address);
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

/* Blocks fill a chain of magazines from the bottom, without gaps. */
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
