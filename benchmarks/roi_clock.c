/* roi_clock: linked with a workload that is built without any recording, it prints to standard
 * error how long the region of interest has taken, as {"roi_ns": 1234567}. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { ROI_BEGIN = 0, ROI_END = 1 }; /* library/marks.h */

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
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
