/* Recovery (recovery.c) of the bytes of a pool, at any address. */
#ifndef PMEMSIM_LIBRARY_RECOVERY_H
#define PMEMSIM_LIBRARY_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "pool_layout.h"
#include "segments.h"

/* False, with the reason in pm_error(), if the bytes aren't a pool for this address. */
bool superblock_check(const struct superblock* superblock, uint64_t bytes, const char* name);
/* True if the superblock is that of a pool whose creation a crash interrupted. Its first line may
 * be partly written, except for the magic number. pm_open formats the file again, and nothing is
 * recovered. */
bool superblock_unfinished(const struct superblock* superblock, uint64_t bytes, uint64_t base);
uint64_t superblock_checksum(const struct superblock* superblock);

/* Collects every thread's log segments (free them with segments_free). */
bool segments_find(const unsigned char* start, uint64_t bytes, const char* name,
                   struct segments segments[PM_MAX_THREADS]);
void segments_free(struct segments segments[PM_MAX_THREADS]);

/* Undoes unfinished regions, and redoes committed regions that may not be in place. Returns their
 * number, or -1 if a log is damaged. */
int roll_back(unsigned char* start, uint64_t bytes, const char* name,
              const struct segments segments[PM_MAX_THREADS]);

#endif
