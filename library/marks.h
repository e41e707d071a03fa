/* The marks that the library sends to the recorder. In a program that isn't recorded, the two
 * functions don't exist and no mark is sent.
 *
 * The numbers are those of trace::MarkKind, Purpose, FenceMeaning and HintKind
 * (src/pmemsim/trace/format.hpp); a test compares them. */
#ifndef PMEMSIM_LIBRARY_MARKS_H
#define PMEMSIM_LIBRARY_MARKS_H

#include <stdint.h>

enum mark {
  MARK_ROI_BEGIN = 0,
  MARK_ROI_END = 1,
  MARK_REGION_BEGIN = 2,
  MARK_REGION_END = 3,
  MARK_LOG_RANGE = 4,
  MARK_PURPOSE = 5,
  MARK_NEXT_FENCE = 6,
  MARK_ALLOCATE = 7,
  MARK_FREE = 8,
  MARK_HINT = 9,
  MARK_FENCE_REGIONS = 10,
  MARK_HINT_DATA = 11,
  MARK_READ_FIRST = 12,
};

enum purpose {
  PURPOSE_PROGRAM = 0,
  PURPOSE_LOG = 1,
  PURPOSE_DATA_FLUSH = 2,
  PURPOSE_COMMIT = 3,
  PURPOSE_RELEASE = 4,
};

enum fence_meaning { FENCE_ORDER = 1, FENCE_DURABLE = 2 };

enum hint {
  HINT_BOTH = 0,
  HINT_ADDRESS = 1,
  HINT_DATA = 2,
  HINT_VALUE = 3,
  HINT_BOTH_BUFFERED = 4,
  HINT_ADDRESS_BUFFERED = 5,
  HINT_DATA_BUFFERED = 6,
  HINT_START_BUFFERED = 7,
};

/* Defined by the recording runtime (frontend/runtime/). */
__attribute__((weak)) void pmemsim_rt_mark(uint32_t mark, uint64_t first, uint64_t second);
__attribute__((weak)) void pmemsim_rt_pm_region(void* begin, uint64_t bytes, const char* source);

static inline void mark(enum mark mark, uint64_t first, uint64_t second) {
  if (pmemsim_rt_mark) pmemsim_rt_mark(mark, first, second);
}

#endif
