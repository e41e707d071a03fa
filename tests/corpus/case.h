/* What the programs of the corpus share. Each is one bug, and with -DFIXED its corrected twin;
 * built with pmemsim-cc, so that its own recovery can be crashed, too:
 *
 *     program run FILE      works on a pool in FILE
 *     program check FILE    recovers what a crash has left there, and exits with 0 if that is right
 *
 * A case defines `struct pool` and the two functions run() and check(); a pool of zeros is right.
 */
#pragma once

#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef FIXED
#define IF_BUG(...)
#define IF_FIXED(...) __VA_ARGS__
#else
#define IF_BUG(...) __VA_ARGS__
#define IF_FIXED(...)
#endif

enum { LINE = 64, POOL_BYTES = 1 << 16 };

#define IN_LINE _Alignas(LINE)

__attribute__((target("clwb"))) static inline void flush(const void* start, size_t bytes) {
  for (uintptr_t line = (uintptr_t)start & -LINE; line < (uintptr_t)start + bytes; line += LINE)
    _mm_clwb((void*)line);
}
static inline void fence(void) { _mm_sfence(); }
static inline void persist(const void* start, size_t bytes) {
  flush(start, bytes);
  fence();
}

/* What a check found wrong. */
static inline int wrong(const char* what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

struct pool;
static void run(struct pool* pool);
static int check(struct pool* pool);

int main(int argc, char** argv) {
  if (argc != 3) return wrong("program run|check FILE");
  const int checks = strcmp(argv[1], "check") == 0;
  const int file = open(argv[2], O_RDWR | O_CREAT | (checks ? 0 : O_TRUNC), 0600);
  if (file < 0 || ftruncate(file, POOL_BYTES) != 0) return wrong("no file");
  void* const pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return wrong("no memory");
  if (checks) return check(pool);
  run(pool);
  return 0;
}
