/* The location of one thread's log in a pool. */
#ifndef PMEMSIM_LIBRARY_SEGMENTS_H
#define PMEMSIM_LIBRARY_SEGMENTS_H

#include <stdint.h>

/* The log segments of one thread, as chunk numbers. */
struct segments {
  uint32_t* chunk;
  uint32_t count;
};

#endif
