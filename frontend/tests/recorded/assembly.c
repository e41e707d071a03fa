// Stores to persistent memory by inline assembly, of which some are declared as loads; leaves the
// memory in the file that is given.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int count, char** arguments) {
  if (count != 2) return 1;
  uint64_t* p = mmap((void*)0x10000000000, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (p == MAP_FAILED) return 1;
  unsigned char* bytes = (unsigned char*)p;
  uint64_t x = 0x1111111111111111, k = 0, low = 0, high = 0, n = 5;
  __asm__ volatile("movq %1, %0" ::"m"(p[0]), "r"(x) : "memory");
  __asm__ volatile("movnti %1, %0" ::"m"(p[2]), "r"(x) : "memory");
  __asm__ volatile("incq %0" ::"m"(p[4]) : "memory");
  __asm__ volatile("movq %1, %0" : "=m"(p[6]) : "r"(x));
  __asm__ volatile("movq %1, 8(%0)" ::"r"(p + 8), "r"(x) : "memory");
  p[12] = 3;
  __asm__ volatile("xchgq %1, %0" : "+m"(p[12]), "+r"(k));
  __asm__ volatile("xchgq %1, (%0)" ::"r"(p + 14), "r"(k) : "memory");
  __asm__ volatile(
      "pcmpeqb %%xmm1, %%xmm1\n movdqu %%xmm1, (%0)\n movdqu %%xmm1, 16(%0)" ::"r"(p + 20)
      : "memory", "xmm1");
  __asm__ volatile("movl $7, (%0)\n\tmovb $1, 5(%0)" ::"r"(p + 28) : "memory");
  __asm__ volatile("lock cmpxchg16b %0"
                   : "+m"(*(__int128*)(p + 32)), "+a"(low), "+d"(high)
                   : "b"(5UL), "c"(6UL)
                   : "cc");
  __asm__ volatile("lock btsq $5, %0" : "+m"(p[48])::"cc");
  __asm__ volatile("notb %0\n shrb $2, %0" ::"m"(bytes[400]) : "memory", "cc");
  void* to = bytes + 2048;
  __asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(x) : "memory");
  to = bytes + 2304;
  __asm__ volatile("stosb" : "+D"(to) : "a"(x) : "memory");
  to = bytes + 2400;
  void* from = bytes;
  n = 3;
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n)::"memory");
  to = bytes + 2500;
  n = 5;
  __asm__ volatile("std\n rep stosl\n cld" : "+D"(to), "+c"(n) : "a"(x) : "memory");
  low = high = 0;
  __asm__ volatile("cmpxchg8b %0" : "+m"(p[50]), "+a"(low), "+d"(high) : "b"(3), "c"(4) : "cc");

  FILE* left = fopen(arguments[1], "wb");
  if (left == NULL || fwrite(bytes, 4096, 1, left) != 1) return 1;
  return fclose(left);
}
