/* External definitions of chunks.h's inline functions, for calls that aren't inlined. */
#include "chunks.h"

extern inline int64_t chunks_find(const struct pm_pool* pool, uint64_t from, uint64_t count);
extern inline int64_t chunks_take(struct pm_pool* pool, uint64_t count);
extern inline void chunks_release(struct pm_pool* pool, struct chunk_run run);
