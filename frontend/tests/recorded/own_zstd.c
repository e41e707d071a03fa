// A program whose own functions have the names of public and internal functions of zstd. The
// recorder must not call them.
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
