/* A checker as a shared library: pmemsim check --verify-library lib.so
 *
 * The library defines pmemsim_check(), which says whether an image of persistent memory is
 * consistent:
 *
 *     cc -shared -fPIC -O2 mine_check.c -o mine_check.so
 *     pmemsim check mine.pmt --verify-library ./mine_check.so
 *
 * A process loads the library once, before the first image. For each image it is forked, so that a
 * check begins with the library as it was after loading: what one check has changed, in the image
 * or elsewhere, no other one sees. A check may recover the image, write all over it, start threads
 * and leave memory allocated. If it dies of a signal, calls exit() (whatever the status) or takes
 * too long (--verify-timeout), the image counts as rejected, as if it had said so. What it has
 * written last to its standard output or error stands in the story.
 *
 * A check that only reads, and uses 32 KiB of stack at most, has changed nothing: the next one is
 * made in its process, which takes a fraction of the time. So it goes up to the first one that
 * writes elsewhere or makes a system call, as malloc() and printf() do.
 *
 * Some checks are watched: which pages of the image they read says which other images they needn't
 * see. So a check should depend on nothing but the image, and leave the regions mapped as they are.
 *
 * Threads that are started while the library is loaded aren't there in a check.
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
  void* bytes; /* may be written to: they are this check's alone */
  size_t size;
  uint64_t recorded_at; /* the address at which the recorded program had it */
};

/* Returns 0 if the image is consistent, anything else if it isn't. */
int pmemsim_check(const struct pmemsim_region* regions, size_t count);

/* Regions are mapped where the recorded program had them, so that pointers among them hold. Where
 * that isn't possible, because something else is there or the region doesn't begin at a page,
 * `bytes` differs from `recorded_at`. A library that can't do with that says so by this line in one
 * of its files (in C++ within extern "C"), and pmemsim refuses such recordings:
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
