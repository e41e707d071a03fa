/* Pools: files mapped at fixed addresses. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes.h"
#include "internal.h"
#include "persist.h"
#include "recovery.h"

/* The source name of the pool's memory in a recording; it also says which log the program has. */
#ifdef PM_REDO_LOG
#define POOL_SOURCE "pm_open, redo log"
#else
#define POOL_SOURCE "pm_open"
#endif

static const char* name_of(const char* path) { return path ? path : "the anonymous pool"; }

/* ---- The file -------------------------------------------------------------------------------- */

/* Opens the file, giving a new one its size. Returns the descriptor, or -1. */
static int open_file(const char* path, uint64_t* bytes) {
  int file = open(path, O_RDWR | O_CLOEXEC | (*bytes ? O_CREAT : 0), 0666);
  if (file < 0) {
    set_error("cannot open %s: %s", path, strerror(errno));
    return -1;
  }
  struct stat status;
  if (flock(file, LOCK_EX | LOCK_NB) != 0)
    set_error("%s is in use by another process", path);
  else if (fstat(file, &status) != 0)
    set_error("cannot open %s: %s", path, strerror(errno));
  else if (!S_ISREG(status.st_mode))
    set_error("%s is not a regular file", path);
  else if (status.st_size == 0 && *bytes == 0)
    set_error("%s is empty; creating a pool in it requires a size", path);
  else if (status.st_size == 0 && ftruncate(file, (off_t)*bytes) != 0)
    set_error("cannot set the size of %s to %llu bytes: %s", path, (unsigned long long)*bytes,
              strerror(errno));
  else if (status.st_size != 0 && *bytes != 0 && (uint64_t)status.st_size != *bytes)
    set_error("%s has %llu bytes, not %llu", path, (unsigned long long)status.st_size,
              (unsigned long long)*bytes);
  else {
    if (status.st_size != 0) *bytes = (uint64_t)status.st_size;
    return file;
  }
  close(file);
  return -1;
}

/* On a DAX file system MAP_SYNC makes a flushed line survive a power failure. */
static unsigned char* map(int file, uint64_t bytes, uint64_t base, const char* name) {
  const int fixed = MAP_FIXED_NOREPLACE, access = PROT_READ | PROT_WRITE;
  void* wanted = (void*)(uintptr_t)base;
  void* start = MAP_FAILED;
  if (file < 0)
    start = mmap(wanted, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  else {
    start = mmap(wanted, bytes, access, MAP_SHARED_VALIDATE | MAP_SYNC | fixed, file, 0);
    if (start == MAP_FAILED && (errno == EOPNOTSUPP || errno == EINVAL))
      start = mmap(wanted, bytes, access, MAP_SHARED | fixed, file, 0);
  }
  if (start == wanted) return start;
  if (start != MAP_FAILED) { /* the kernel ignores MAP_FIXED_NOREPLACE */
    munmap(start, bytes);
    errno = EEXIST;
  }
  set_error("cannot map %s at %p: %s", name, wanted,
            errno == EEXIST ? "the address range is in use (another pool may be open under the "
                              "same number)"
                            : strerror(errno));
  return NULL;
}

/* ---- Contents -------------------------------------------------------------------------------- */

/* Writes the superblock. All other parts of a pool are valid when they are zero. The magic number
 * is written last: after an earlier crash, the file is formatted again. */
static void format(struct superblock* superblock, uint64_t bytes, uint64_t base) {
  superblock->bytes = bytes;
  superblock->base = base;
  superblock->threads = PM_MAX_THREADS;
  superblock->shelves = SHELVES;
  superblock->chunk_bytes = CHUNK_BYTES;
  superblock->checksum = superblock_checksum(superblock);
  persist_flush(superblock, 1);
  persist_fence(FENCE_ORDER);
  superblock->magic = POOL_MAGIC;
  persist_flush(superblock, 1);
  persist_fence(FENCE_DURABLE);
}

static bool root_check(const struct pm_pool* pool, const char* name) {
  const uint64_t root = pool->superblock->root, bytes = pool->superblock->root_bytes;
  const uint64_t begin = (uintptr_t)pool->first_chunk, end = (uintptr_t)pool->start + pool->bytes;
  if (root == 0 ||
      (root >= begin && root < end && root % PM_LINE_BYTES == 0 && bytes <= end - root))
    return true;
  set_error("%s is damaged: its root object is outside it", name);
  return false;
}

static bool prepare(struct pm_pool* pool, uint64_t base, const char* name) {
  struct superblock* superblock = pool->superblock;
  if (superblock_unfinished(superblock, pool->bytes, base)) format(superblock, pool->bytes, base);
  if (!superblock_check(superblock, pool->bytes, name)) return false;
  if (superblock->base != base) {
    set_error(
        "%s was created as pool number %llu, and its pointers are valid only under that "
        "number",
        name, (unsigned long long)((superblock->base - PM_BASE) / PM_POOL_STRIDE));
    return false;
  }
  struct segments segments[PM_MAX_THREADS];
  if (!segments_find(pool->start, pool->bytes, name, segments)) return false;
  int undone = roll_back(pool->start, pool->bytes, name, segments);
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread)
    pool->arenas[thread].log = segments[thread];
  pool->rolled_back = (unsigned)undone;
  return undone >= 0 && root_check(pool, name) && allocator_open(pool, name);
}

static void dispose(struct pm_pool* pool) {
  allocator_close(pool);
  for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) free(pool->arenas[thread].log.chunk);
  munmap(pool->start, pool->bytes);
  if (pool->file >= 0) close(pool->file);
  pthread_mutex_destroy(&pool->root_lock);
  free(pool);
}

pm_pool* pm_open(const char* path, uint64_t bytes, unsigned number) {
  const char* name = name_of(path);
  if (number >= PM_MAX_POOLS) {
    set_error("pool number %u is above %d", number, PM_MAX_POOLS - 1);
    return NULL;
  }
  if (bytes % CHUNK_BYTES != 0) bytes += CHUNK_BYTES - bytes % CHUNK_BYTES;
  int file = path ? open_file(path, &bytes) : -1;
  if (path && file < 0) return NULL;
  const uint64_t base = PM_BASE + number * PM_POOL_STRIDE;
  unsigned char* start = NULL;
  if (pool_chunks(bytes) == 0 || bytes > POOL_MAX_BYTES || bytes % CHUNK_BYTES != 0)
    set_error(
        "%s cannot be a pool: its size of %llu bytes is not a multiple of %d from %d up to %llu",
        name, (unsigned long long)bytes, CHUNK_BYTES,
        (CHUNK_TABLE_OFFSET / CHUNK_BYTES + 2) * CHUNK_BYTES, (unsigned long long)POOL_MAX_BYTES);
  else
    start = map(file, bytes, base, name);
  if (!start) {
    if (file >= 0) close(file);
    return NULL;
  }
  if (pmemsim_rt_pm_region) pmemsim_rt_pm_region(start, bytes, POOL_SOURCE);

  struct pm_pool* pool = calloc(1, sizeof *pool);
  if (!pool) fatal("out of memory");
  pool->start = start;
  pool->bytes = bytes;
  pool->file = file;
  pool->superblock = (struct superblock*)start;
  pool->commit = (struct commit_line*)(start + COMMIT_OFFSET);
  pool->shelves = (struct shelf_line*)(start + SHELF_OFFSET);
  pool->depots = (struct depot_line*)(start + DEPOT_OFFSET);
  pool->chunk_table = (struct chunk_line*)(start + CHUNK_TABLE_OFFSET);
  pool->first_chunk = start + first_chunk_offset(bytes);
  pool->chunks = pool_chunks(bytes);
  pthread_mutex_init(&pool->root_lock, NULL);
  if (prepare(pool, base, name)) return pool;
  dispose(pool);
  return NULL;
}

int pm_close(pm_pool* pool) {
  if (!pool) return 0;
  if (this_thread.depth > 0 && this_thread.pool == pool) {
    set_error("pm_close: this thread is inside a region");
    return -1;
  }
  int result = 0;
  if (pool->file >= 0 && msync(pool->start, pool->bytes, MS_SYNC) != 0) {
    set_error("cannot write the pool to its file: %s", strerror(errno));
    result = -1;
  }
  dispose(pool);
  return result;
}

unsigned pm_rolled_back(const pm_pool* pool) { return pool->rolled_back; }

/* ---- The root object ------------------------------------------------------------------------- */

static void* create_root(pm_pool* pool, size_t bytes) {
  struct superblock* superblock = pool->superblock;
  pm_begin(pool);
  void* root = pm_alloc(pool, bytes);
  if (root) {
    region_log(&this_thread, &(pm_range){&superblock->root, 2 * sizeof(uint64_t)}, 1);
    region_clear(&this_thread, root, bytes);
    region_set(superblock->root, (uintptr_t)root);
    region_set(superblock->root_bytes, bytes);
  }
  pm_end();
  return root;
}

void* pm_root(pm_pool* pool, size_t bytes) {
  if (this_thread.depth > 0) {
    set_error("pm_root: must not be called inside a region");
    return NULL;
  }
  pthread_mutex_lock(&pool->root_lock);
  void* root = (void*)(uintptr_t)pool->superblock->root;
  if (!root)
    root = create_root(pool, bytes);
  else if (bytes > pool->superblock->root_bytes) {
    set_error("pm_root: the pool's root has %llu bytes, not %zu",
              (unsigned long long)pool->superblock->root_bytes, bytes);
    root = NULL;
  }
  pthread_mutex_unlock(&pool->root_lock);
  return root;
}
