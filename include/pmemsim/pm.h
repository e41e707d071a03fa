/* pmemsim/pm.h: programming persistent memory (PM), in C, usable from C++.
 *
 * A program opens a pool, which is a file mapped at a fixed address, and keeps its data there.
 * Changes inside an atomic region survive a crash entirely or not at all:
 *
 *     pm_pool* pool = pm_open("accounts.pool", 64 << 20, 0);
 *     if (!pool) { fprintf(stderr, "%s\n", pm_error()); exit(2); }
 *     struct accounts* a = pm_root(pool, sizeof *a);
 *
 *     pm_begin(pool);
 *     pm_log_ranges((pm_range[]){{&a->from, 8}, {&a->to, 8}}, 2);   // before the first store
 *     a->from -= 10;
 *     a->to += 10;
 *     pm_end();                                                    // durable from here on
 *
 * The library needs nothing but libc, pthreads and an x86-64 processor. A program that is linked
 * against it runs natively, and its data really persist: after power failure if the file is on PM
 * (a DAX mount), after the death of the process on any file system. The same program, compiled by
 * pmemsim-cc, is recorded: the library then reports the purpose of each part of its code. So one
 * recording serves every hardware design.
 *
 * Rules
 *   1. Before a region first stores to a range, it declares the range with pm_log or pm_log_ranges.
 *      Memory that the region itself allocated needs no declaration.
 *      With the redo log (PM_REDO_LOG) it accesses PM by pm_get, pm_set, pm_read and pm_write
 *      instead. A program that does both works with either log.
 *   2. Atomicity is not isolation. Regions of different threads that run at the same time must not
 *      touch the same 64-byte line: hold a lock from before the first access until after pm_end,
 *      and protect everything within one line by one lock.
 *   3. A region belongs to one pool and one thread.
 *
 * A breach of the interface (pm_end without pm_begin, a range outside the pool) ends the program
 * with a message on stderr and abort(). An operation that may fail in a correct program reports
 * this by its result.
 *
 * docs/guides/program_regions.md is the guide: it explains costs, recovery and the layout of a
 * pool. */
#ifndef PMEMSIM_PM_H
#define PMEMSIM_PM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The size of a cache line: it persists as a unit, and the undo log saves it as a unit. */
#define PM_LINE_BYTES 64

/* Pool number n is mapped at PM_BASE + n * PM_POOL_STRIDE. Linux and the address sanitizer leave
 * these addresses free. */
#define PM_BASE UINT64_C(0x200000000000)
#define PM_POOL_STRIDE UINT64_C(0x010000000000)
#define PM_MAX_POOLS 16

/* The maximum number of threads that can use a pool at the same time. */
#define PM_MAX_THREADS 128

/* The log of the whole program, library included: an undo log, or with -DPM_REDO_LOG a redo log.
 * Parts of a program with different logs don't link. Either log opens the pools of the other. */
#ifdef PM_REDO_LOG
#define pm_open pm_open_with_redo_log
#endif

/* ---- Pools --------------------------------------------------------------------------------- */

typedef struct pm_pool pm_pool;

/* Opens the pool in the file `path`, or creates it if there is no such file or if it is all zero.
 * Maps it at the address of pool `number` (0 to PM_MAX_POOLS - 1), so that pointers into it stay
 * valid from run to run. Opening rolls back the regions that a crash has interrupted, and completes
 * those that had committed to a redo log and were not in place yet.
 *
 * `bytes` is the size of a new pool, rounded up to whole 64 KiB; for an existing one it must be its
 * size, or 0 for its current size. A `path` of NULL makes a pool in anonymous memory, which is
 * discarded at pm_close.
 *
 * Returns NULL, with the reason in pm_error(), if the file cannot be opened or mapped, is in use by
 * another process, isn't a pool, or is damaged. */
pm_pool* pm_open(const char* path, uint64_t bytes, unsigned number);

/* Writes the pool to its file and unmaps it. No thread may be using it. Returns 0, or -1 with the
 * reason in pm_error(); a pool that is in the middle of a region then stays open. */
int pm_close(pm_pool* pool);

/* Returns the number of interrupted regions that pm_open rolled back or completed. */
unsigned pm_rolled_back(const pm_pool* pool);

/* Rolls back or completes the interrupted regions in the image of a pool, which may be at any
 * (64-byte aligned) address: pm_open's recovery for tools that have a crash image in memory.
 * Returns the number of these regions, or -1 with the reason in pm_error(). */
int pm_recover_image(void* image, uint64_t bytes);

/* Returns the pool's root object: allocated, filled with zeros and made durable on first use, the
 * same one afterwards. Must not be called inside a region. Returns NULL, with the reason in
 * pm_error(), if the pool is full or if its root is smaller than `bytes`. */
void* pm_root(pm_pool* pool, size_t bytes);

/* Returns the reason, as a sentence, of the last failure that a call of this thread reported. */
const char* pm_error(void);

/* Prepares the calling thread: assigns it the log and the allocation arena `index` (0 to
 * PM_MAX_THREADS - 1) of the pool, which no other live thread may have. Optional: a thread that
 * doesn't call it gets the lowest free index when it first needs one, and sets up its log in its
 * first region, which takes time. Returns 0, or -1 with the reason in pm_error(). */
int pm_thread(pm_pool* pool, unsigned index);

/* ---- Memory -------------------------------------------------------------------------------- */

/* Allocates uninitialised PM, aligned to and a multiple of 64 bytes. Inside a region the allocation
 * is part of it: it is undone if the region doesn't commit, and the memory's contents are flushed
 * at pm_end. Outside one it is a region of its own, and the program flushes its writes. Allocate
 * before pm_log or pm_log_ranges: the allocator's own log entries then share their fence. Returns
 * NULL, with the reason in pm_error(), if the pool is full. */
void* pm_alloc(pm_pool* pool, size_t bytes);

/* Releases memory that pm_alloc returned (NULL: nothing). Inside a region the memory keeps its
 * contents until the region commits, and is not allocated again before. Free before pm_log, as
 * above. */
void pm_free(pm_pool* pool, void* memory);

/* ---- Atomic regions ------------------------------------------------------------------------ */

typedef struct pm_range {
  const void* address;
  size_t bytes;
} pm_range;

/* Begins an atomic region. Regions nest by flattening: the outermost pm_end commits. */
void pm_begin(pm_pool* pool);

/* Ends the region. When the outermost pm_end returns, everything that the region stored to its
 * declared ranges and its allocations is durable. */
void pm_end(void);

/* Declares that the region will store to these bytes. Their old contents are in the log, durably,
 * when it returns. A repeated declaration in the region costs next to nothing. If the pool is so
 * full that the log cannot grow, the program ends with a message; the region is undone at the next
 * pm_open. */
void pm_log(const void* address, size_t bytes);

/* Declares several ranges that share one fence. A region whose ranges are declared by one call
 * costs three fences: one for the log, one for the data, one for the commit. */
void pm_log_ranges(const pm_range* ranges, size_t count);

/* ---- Accesses that work with either log ------------------------------------------------------ */

/* With the redo log a region's stores stay in the log until it ends, word by word, and its loads
 * search the log first. So a region must use these for all its accesses to PM that it may have
 * stored to, including memory that it has allocated. Outside regions, and with the undo log, they
 * are ordinary accesses: with the undo log, the ranges they store to must still be declared.
 *
 * pm_get(place)             the value of an lvalue in PM: pm_get(node->left)
 * pm_set(place, value)      stores to one; in C++ the value may be in braces
 * pm_read(to, from, bytes)  copies from PM
 * pm_write(to, from, bytes) copies to PM */
#ifdef PM_REDO_LOG
void pm_read(void* to, const void* from, size_t bytes);
void pm_write(void* to, const void* from, size_t bytes);
#define pm_get(place)                                  \
  __extension__({                                      \
    __typeof__(__extension__({ (place); })) pm_value_; \
    pm_read(&pm_value_, &(place), sizeof pm_value_);   \
    pm_value_;                                         \
  })
#define pm_set(place, ...)                         \
  __extension__({                                  \
    __typeof__(place)* pm_place_ = &(place);       \
    __typeof__(place) pm_new_ = __VA_ARGS__;       \
    pm_write(pm_place_, &pm_new_, sizeof pm_new_); \
  })
#else
#define pm_get(place) (place)
#define pm_set(place, ...) ((place) = __VA_ARGS__)
#define pm_read(to, from, bytes) memcpy(to, from, bytes)
#define pm_write(to, from, bytes) memcpy(to, from, bytes)
#endif

/* Waits until the regions that this thread has ended are durable. With the software log they are
 * when pm_end returns, so natively it does nothing. Designs that commit asynchronously wait here
 * (ASAP's asap_fence). */
void pm_fence_regions(void);

/* ---- Flushes and fences, for programs that order their stores themselves --------------------- */

/* Starts the write-back of the lines that contain these bytes (clwb, or clflushopt or clflush if
 * the processor lacks it). */
void pm_flush(const void* address, size_t bytes);

/* Orders persists: data that were flushed before become persistent before any later store does. */
void pm_order(void);

/* Waits until data that were flushed before are persistent. On x86, pm_order is the same sfence;
 * designs that distinguish ordering from durability (HOPS) make pm_order cheap. */
void pm_durable(void);

/* ---- Locks of the program's own -------------------------------------------------------------- */

/* The recorder detects when pthread and C11 locks, and locks built on them (std::mutex), are taken
 * and released. For locks that a program builds from atomic variables (ticket locks, queues,
 * versions) it sees accesses only. So the functions of such locks are annotated, where pmemsim-cc
 * compiles them:
 *
 *     PM_ACQUIRES void take(struct lock* lock);         holds the lock when it returns
 *     PM_TRY_ACQUIRES bool try(struct lock* lock);      holds it if its result isn't 0
 *     PM_RELEASES void give_back(struct lock* lock);    releases it, and holds it when called
 *
 * The lock is the first pointer or reference among the parameters; in a method, the object. One
 * thread holds it at a time, and may acquire it several times if it releases it as often. Natively
 * the annotations have no effect. */
#if defined __has_attribute
#if __has_attribute(annotate)
#define PM_ACQUIRES __attribute__((annotate("pmemsim.acquires")))
#define PM_TRY_ACQUIRES __attribute__((annotate("pmemsim.try_acquires")))
#define PM_RELEASES __attribute__((annotate("pmemsim.releases")))
#endif
#endif
#ifndef PM_ACQUIRES
#define PM_ACQUIRES
#define PM_TRY_ACQUIRES
#define PM_RELEASES
#endif

/* ---- Measuring ------------------------------------------------------------------------------- */

/* Mark the part of a thread's execution that a simulation measures. Natively they do nothing. */
void pm_roi_begin(void);
void pm_roi_end(void);

/* ---- Pre-execution (Janus, table 2) ---------------------------------------------------------- */

/* Notify the memory controller early about a coming write, so that it can start encrypting,
 * deduplicating and so on. These are only hints: natively they do nothing, and in designs without
 * pre-execution they cost nothing, not even their instructions. `address` is the PM to be written;
 * `data` is the current location of the value to be written. Without an address, `data` must be
 * aligned to a line as its destination is. The functions that end in _buf only buffer the request;
 * pm_pre_start_buf starts the buffered ones. */
typedef struct pm_pre {
  uint32_t id;
} pm_pre;

#define PM_HINT __attribute__((nothrow)) void
PM_HINT pm_pre_init(pm_pre* object);
PM_HINT pm_pre_both(const pm_pre* object, const void* address, const void* data, size_t bytes);
PM_HINT pm_pre_addr(const pm_pre* object, const void* address, size_t bytes);
PM_HINT pm_pre_data(const pm_pre* object, const void* data, size_t bytes);
PM_HINT pm_pre_both_val(const pm_pre* object, const void* address, uint64_t value);
PM_HINT pm_pre_both_buf(const pm_pre* object, const void* address, const void* data, size_t bytes);
PM_HINT pm_pre_addr_buf(const pm_pre* object, const void* address, size_t bytes);
PM_HINT pm_pre_data_buf(const pm_pre* object, const void* data, size_t bytes);
PM_HINT pm_pre_start_buf(const pm_pre* object);
#undef PM_HINT

#ifdef __cplusplus
}
#endif

#endif
