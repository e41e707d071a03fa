#include "persist.h"

#include <cpuid.h>
#include <immintrin.h>

#include "pmemsim/pm.h"

#ifndef __x86_64__
#error "pmemsim/pm.h needs an x86-64 processor"
#endif

typedef void flush_function(const char* line, const char* end);

__attribute__((target("clwb"))) static void flush_clwb(const char* line, const char* end) {
  for (; line < end; line += PM_LINE_BYTES) _mm_clwb((void*)line);
}

__attribute__((target("clflushopt"))) static void flush_clflushopt(const char* line,
                                                                   const char* end) {
  for (; line < end; line += PM_LINE_BYTES) _mm_clflushopt((void*)line);
}

static void flush_clflush(const char* line, const char* end) {
  for (; line < end; line += PM_LINE_BYTES) _mm_clflush((void*)line);
}

static flush_function* flush = flush_clflush;

/* Selects the processor's best instruction: clwb keeps the line in the cache, clflushopt is not
 * ordered behind other write-backs, clflush always exists. */
__attribute__((constructor)) static void choose_flush(void) {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return;
  if (ebx & bit_CLWB)
    flush = flush_clwb;
  else if (ebx & bit_CLFLUSHOPT)
    flush = flush_clflushopt;
}

void persist_flush(const void* address, size_t lines) {
  const char* line = (const char*)((uintptr_t)address & ~(uintptr_t)(PM_LINE_BYTES - 1));
  flush(line, line + lines * PM_LINE_BYTES);
}

void persist_fence(enum fence_meaning meaning) {
  mark(MARK_NEXT_FENCE, meaning, 0);
  _mm_sfence();
}
