// Goes through a recording once, without a machine, and finds what the program does wrong with
// persistent memory (PM), by x86's rules: a store is sure to persist once its line has been flushed
// after it, and the thread that has flushed it has passed sfence, mfence or a locked instruction.
//
// Threads are gone through in an order that the recording's synchronisation allows; what depends
// on that order counts only if the synchronisation says it (happens_before.hpp).
//
//   P1  never-flushed: at the end, a line has been stored to, outside of regions, since its last
//       flush. Non-temporal stores need none.
//   P2  stored-after-flush: a line is stored to behind its flush, before that one's fence, by the
//       same thread, and hasn't been flushed again when the thread stores to another line behind
//       the fence, gives back a lock, or ends.
//   P3  flushed-not-fenced (of non-temporal stores: nt-not-fenced): without a fence of its thread
//       behind it, a clwb or clflushopt is followed by something of the same thread that depends on
//       it: a pointer to the line, or into its allocation, is stored to a place that can be reached
//       (P5); a region ends; a lock is given back that was taken before the flush; the end.
//       clflush is ordered with later stores.
//   P4  published-unflushed: as P3's pointer, to a line that is new and hasn't been flushed at all
//       since its stores.
//   P5  A place can be reached if its word was persistent before the store, and wasn't zero, or a
//       pointer to its line, or its allocation, has been stored in PM by the program. (What is
//       stored where zero was may belong to something that is being set up, and counts only once a
//       flag says so.)
//   P6  locked-fence-only: P3, but a lock was taken or given back in between (by a function: its
//       locked instructions are a fence on most systems, but nobody promises them).
//   P7  flushed-by-another: P3's end, but another thread's fence follows for certain.
//   P8  useless-flush: of a line that nobody has stored to since its last flush (if that has ended,
//       or is the thread's own), or at all, or that isn't in PM. useless-fence: an sfence without a
//       flush or non-temporal store of its thread since the last fence. Neither is said of what was
//       possibly done before the recording began, nor of lines on which threads race.
//   P9  reads-unpersisted: a thread loads a word that another has stored to before, for certain,
//       and that isn't sure to persist; and stores to another line of PM a value computed from it,
//       or at an address computed from it if it is eight bytes wide (a pointer), directly or by way
//       of words of its own volatile memory, while it still isn't. Atomic updates aren't looked at,
//       nor stores inside regions, nor words whose line nobody flushes any more (P1).
//   P10 volatile-pointer: an aligned word is stored to PM that is the address of volatile memory
//       which the recording has accessed, in the same line. Addresses below 4 GiB might be numbers.
//   P11 torn-publish: a pointer into PM is stored, outside regions, across an 8-byte border.
//
// Regions: region_check.hpp. Allocations: allocations.hpp. What pm.h's library does itself isn't
// judged.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pmemsim/checks/rules/finding.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

struct Options {
  // Caches survive: only non-temporal stores need fences, and flushes nothing.
  bool eadr = false;
};

struct Report {
  std::vector<Finding> findings;
  std::uint64_t operations = 0, instructions = 0;
  std::uint64_t pm_stores = 0, flushes = 0, fences = 0;
  std::uint64_t regions = 0, allocations = 0;
  bool from_the_start = true;  // the recording doesn't begin at pm_roi_begin
};

// Calls progress(share) now and then; false ends it (Interrupted). Throws trace::TraceError.
Report check_program(const trace::TraceFile& trace, const Options& options,
                     const std::function<bool(double)>& progress);

}  // namespace pmemsim::check
