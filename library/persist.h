/* Write-backs of cache lines and fences: the library's only access to the hardware. (The crash
 * tests link a model of a volatile cache in its place.) */
#ifndef PMEMSIM_LIBRARY_PERSIST_H
#define PMEMSIM_LIBRARY_PERSIST_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* Starts the write-back of `lines` lines from the line that contains `address`. */
void persist_flush(const void* address, size_t lines);

/* Executes an sfence, announced to the recorder with its meaning. */
void persist_fence(enum fence_meaning meaning);

#endif
