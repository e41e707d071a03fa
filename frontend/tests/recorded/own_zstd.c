// A program with functions that have the names of zstd's, public and internal ones: they are its
// own, and nobody else may call them.
#include <stdlib.h>

#define NOBODY_CALLS(name) \
  __attribute__((visibility("default"))) void name(void) { abort(); }

NOBODY_CALLS(ZSTD_compressCCtx)
NOBODY_CALLS(ZSTD_compressBound)
NOBODY_CALLS(ZSTD_estimateCCtxSize)
NOBODY_CALLS(ZSTD_initStaticCCtx)
NOBODY_CALLS(ZSTD_compressBlock_fast)
NOBODY_CALLS(ZSTD_isError)
NOBODY_CALLS(FSE_buildCTable_wksp)
NOBODY_CALLS(HIST_count_wksp)
NOBODY_CALLS(HUF_buildCTable_wksp)
NOBODY_CALLS(XXH64)
NOBODY_CALLS(ZSTD_XXH64)

int main(void) {
  volatile int numbers[256];
  for (int i = 0; i < 4096; ++i) numbers[i % 256] = i;
  return 0;
}
