// Writes all lines of two equally large memories before the region of interest. The page numbers
// differ in two bits, which cancel each other where the upper bits are folded into the lower.
#define _GNU_SOURCE
#include <pmemsim/pm.h>
#include <sys/mman.h>

enum { kBytes = 64 * 4096, kLineBytes = 64 };

static volatile char* map_at(unsigned long address) {
  void* const memory = mmap((void*)address, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return memory == MAP_FAILED ? 0 : memory;
}

static void write_lines(volatile char* memory) {
  for (int at = 0; at < kBytes; at += kLineBytes) memory[at] = 1;
}

int main(void) {
  const unsigned long distance = (1ul << 40) + (1ul << 26);
  volatile char* const first = map_at(0x20000000000);
  volatile char* const second = map_at(0x20000000000 + distance);
  if (!first || !second) return 1;
  write_lines(first);
  write_lines(second);
  pm_roi_begin();
  first[0] = 2;
  pm_roi_end();
  return 0;
}
