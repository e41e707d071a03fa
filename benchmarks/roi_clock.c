/* roi_clock: linked with a workload that is built without any recording, it prints to standard
 * error how long the region of interest has taken, as {"roi_ns": 1234567}.
 *
 * With --wrap=mmap it also has the kernel make all of the pool's pages at once. Else the kernel
 * zeroes a page when a region first stores to it, so that lines that no program has touched are in
 * the caches, which those of a file on persistent memory aren't. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

enum { ROI_BEGIN = 0, ROI_END = 1 }; /* library/marks.h */

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void* __real_mmap(void* wanted, size_t bytes, int access, int flags, int file, off_t offset);
void* __wrap_mmap(void* wanted, size_t bytes, int access, int flags, int file, off_t offset);
void* __wrap_mmap(void* wanted, size_t bytes, int access, int flags, int file, off_t offset) {
  return __real_mmap(wanted, bytes, access, flags | MAP_POPULATE, file, offset);
}

/* The library tells of everything by this function, if it exists. */
void pmemsim_rt_mark(uint32_t mark, uint64_t first, uint64_t second) {
  static uint64_t begin;
  (void)first;
  (void)second;
  if (mark == ROI_BEGIN) begin = now_ns();
  if (mark == ROI_END)
    fprintf(stderr, "{\"roi_ns\": %llu}\n", (unsigned long long)(now_ns() - begin));
}
