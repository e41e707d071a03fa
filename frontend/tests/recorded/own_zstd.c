// A program whose own functions have the names of public and internal functions of zstd. The
// recorder must not call them.
#include <stdlib.h>

#define OWN_FUNCTION(name) \
  __attribute__((visibility("default"))) void name(void) { abort(); }

OWN_FUNCTION(ZSTD_compressCCtx)
OWN_FUNCTION(ZSTD_compressBound)
OWN_FUNCTION(ZSTD_estimateCCtxSize)
OWN_FUNCTION(ZSTD_initStaticCCtx)
OWN_FUNCTION(ZSTD_compressBlock_fast)
OWN_FUNCTION(ZSTD_isError)
OWN_FUNCTION(FSE_buildCTable_wksp)
OWN_FUNCTION(HIST_count_wksp)
OWN_FUNCTION(HUF_buildCTable_wksp)
OWN_FUNCTION(XXH64)
OWN_FUNCTION(ZSTD_XXH64)

int main(void) {
  volatile int numbers[256];
  for (int i = 0; i < 4096; ++i) numbers[i % 256] = i;
  return 0;
}
