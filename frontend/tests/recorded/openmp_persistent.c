// Stores words in a team, flushes them, and then stores a flag: run FILE. `check FILE` accepts an
// image with the flag only if it has all words. With -DWRONG the flag doesn't wait for the team.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kThreads = 4, kFlag = 8 * 30, kBytes = 1 << 16 };

__attribute__((target("clwb"))) static void persist(uint64_t* word) {
  _mm_clwb(word);
  _mm_sfence();
}

static void set_flag(uint64_t* words) {
  words[kFlag] = 1;
  persist(words + kFlag);
}

int main(int count, char** arguments) {
  (void)count;
  const int file = open(arguments[2], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, kBytes) != 0) return 1;
  uint64_t* words = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (strcmp(arguments[1], "check") == 0) {
    for (int i = 0; i < kThreads; ++i) {
      if (words[kFlag] != 0 && words[8 * i] != 7) return 1;
    }
    return 0;
  }
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for nowait
    for (int i = 0; i < kThreads; ++i) {
      words[8 * i] = 7;
      persist(words + 8 * i);
    }
#ifdef WRONG
#pragma omp masked
    set_flag(words);
#endif
  }
#ifndef WRONG
  set_flag(words);
#endif
  return 0;
}
