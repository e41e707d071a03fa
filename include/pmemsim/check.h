/* A checker as a shared library: pmemsim check --verify-library lib.so
 *
 * The library defines pmemsim_check(), which decides whether an image of persistent memory is
 * consistent:
 *
 *     cc -shared -fPIC -O2 mine_check.c -o mine_check.so
 *     pmemsim check mine.pmt --verify-library ./mine_check.so
 *
 * A process loads the library once, before the first image. For each image that process is forked,
 * so that a check begins with the library in its state after loading. Changes that one check has
 * made, in the image or elsewhere, are invisible to all others. A check may recover the image,
 * overwrite it, start threads and leave memory allocated. The image counts as rejected if the check
 * dies of a signal, calls exit() (whatever the status) or takes too long (--verify-timeout). The
 * check's last output to standard output or error is part of the report.
 *
 * A check that only reads, and uses at most 32 KiB of stack, has changed nothing: the next check
 * runs in its process, which takes a fraction of the time. This continues up to the first check
 * that writes elsewhere or makes a system call, as malloc() and printf() do.
 *
 * Some checks are watched: the pages of the image that they read determine other images that need
 * no check. So a check should depend on nothing but the image, and leave the regions mapped at
 * their addresses.
 *
 * Threads that are started while the library is loaded don't exist in a check.
 */
#ifndef PMEMSIM_CHECK_H
#define PMEMSIM_CHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A region of the image. Regions have the order of `pmemsim trace info`. */
struct pmemsim_region {
  void* bytes; /* may be written to: only this check sees the changes */
  size_t size;
  uint64_t recorded_at; /* the address of the region in the recorded program */
};

/* Returns 0 if the image is consistent, any other value if it isn't. */
int pmemsim_check(const struct pmemsim_region* regions, size_t count);

/* Regions are mapped at their addresses in the recorded program, so that pointers among them are
 * valid. If that is impossible, because other memory is there or the region doesn't begin at a
 * page, `bytes` differs from `recorded_at`. A library that needs the recorded addresses declares it
 * by this line in one of its files (in C++ within extern "C"), and pmemsim refuses such recordings:
 *
 *     PMEMSIM_CHECK_NEEDS_RECORDED_ADDRESSES;
 */
#define PMEMSIM_CHECK_NEEDS_RECORDED_ADDRESSES             \
  extern const int pmemsim_check_needs_recorded_addresses; \
  const int pmemsim_check_needs_recorded_addresses = 1

#ifdef __cplusplus
}
#endif

#endif
