/* What the programs of the corpus share. Each is one bug, and with -DFIXED its corrected twin;
 * built with pmemsim-cc, so that its own recovery can be crashed, too:
 *
 *     program run FILE      works on a pool in FILE
 *     program check FILE    recovers what a crash has left there, and exits with 0 if that is right
 *     program answer FILE   recovers it, and prints what is there, right or not
 *
 * A case defines `struct pool` and the two functions run() and check(); a pool of zeros is right.
 * With ANSWERS defined it also has answer(). run(), or what is declared as OPERATION, must be done
 * as a whole or not at all.
 */
#pragma once

#include <emmintrin.h> /* <immintrin.h> takes ten times as long to compile */
#include <fcntl.h>
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
    __builtin_ia32_clwb((void*)line);
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

/* Not inlined, so that a recording has its calls. */
#define OPERATION __attribute__((noinline)) static void

struct pool;
OPERATION run(struct pool* pool);
static int check(struct pool* pool);
#ifdef ANSWERS
static void answer(struct pool* pool);
#else
#define answer check
#endif

int main(int argc, char** argv) {
  if (argc != 3) return wrong("program run|check|answer FILE");
  const int runs = strcmp(argv[1], "run") == 0;
  const int file = open(argv[2], O_RDWR | O_CREAT | (runs ? O_TRUNC : 0), 0600);
  if (file < 0 || ftruncate(file, POOL_BYTES) != 0) return wrong("no file");
  void* const pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return wrong("no memory");
  if (strcmp(argv[1], "check") == 0) return check(pool);
  if (runs) {
    run(pool);
  } else {
    answer(pool);
  }
  return 0;
}
