// Check of a program's use of persistent memory (PM) by x86's rules, in one pass over a recording
// and without a machine. A store is guaranteed persistent after two steps: its line is flushed
// after it, and then the flushing thread executes sfence, mfence or a locked instruction.
//
// Threads are processed in the recorded order, or, in a recording without turns, in an order that
// its synchronisation allows. A finding that
// depends on this order counts only if the synchronisation implies it (happens_before.hpp).
//
//   P1  never-flushed: at the end, a line has been stored to, outside of regions, since its last
//       flush, and it has not been freed. Non-temporal stores need no flush. never_flushed.hpp says
//       which of these findings are only notes.
//   P2  stored-after-flush: the flushing thread stores to the line again between its flush and that
//       flush's fence. The line has not been flushed again when the thread stores to another line
//       after the fence, releases a lock, or ends.
//   P3  flushed-not-fenced (of non-temporal stores: nt-not-fenced): a clwb or clflushopt has no
//       later fence of its thread when the same thread executes a dependent operation. Dependent
//       operations are: a pointer to the line, or into its allocation, is stored to a reachable
//       location (P5); a region ends; a lock is released that was acquired before the flush; the
//       recording ends. clflush is ordered with later stores.
//   P4  published-unflushed: a pointer as in P3 is stored, to a line that is new and has not been
//       flushed at all since its stores.
//   P5  A location is reachable if its word was persistent before the store and one of two
//       conditions holds. Either the word was not zero, or the program has stored a pointer to its
//       line, or its allocation, in PM. (A store over zero may belong to an object under
//       construction, and counts only once a flag is set.)
//   P6  locked-fence-only: P3, but a function has acquired or released a lock between the flush and
//       the dependent operation. The function's locked instructions are a fence on most systems,
//       but this is not guaranteed.
//   P7  flushed-by-another: P3 at a region's end, a lock's release or the recording's end, but
//       another thread has certainly executed a fence after the flush.
//   P8  useless-flush: the line has not been stored to since its last flush, if that flush has
//       completed or is the thread's own. Also reported if the line has not been stored to at all,
//       or is not in PM. useless-fence: an sfence without a flush or non-temporal store of its
//       thread since the last fence. Neither is reported for lines with races, or if an operation
//       before the recording may have made it useful.
//   P9  reads-unpersisted: a thread loads a word that another thread has certainly stored to before
//       and that is possibly lost. While the word is possibly lost, the thread stores to another
//       line of PM. The stored value is computed from the word, or the store's address is, if the
//       word is 8 B wide (a pointer). The value may pass through words of the thread's own volatile
//       memory. Atomic updates, stores inside regions, and words whose line is never flushed again
//       (P1) are not considered. read_check.hpp says which dependent stores are correct.
//   P10 volatile-pointer: an aligned word stored to PM is the address of volatile memory in a line
//       that the recording has accessed. Values below 4 GiB might be numbers and are ignored.
//   P11 torn-publish: a pointer into PM is stored, outside regions, across an 8-byte border.
//   P12 could-read-unpersisted: P9 in another order of the threads, which the recording's
//       synchronisation allows (race_check.hpp). Data that are read through the loaded pointer
//       count, too.
//   P13 could-lose-update: another order of the threads, which the synchronisation allows, puts a
//       plain load of a word and a plain store to it that depends on the load between those of
//       another thread (race_check.hpp).
//   P14 replies-unpersisted: a thread sends a reply that depends on data which are possibly lost.
//       reply_check.hpp says when it does, and which of these findings are only notes.
//
// Regions: region_check.hpp. Allocations: allocations.hpp. Operations of pm.h's library are not
// checked.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pmemsim/checks/rules/finding.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

struct Options {
  // Caches are persistent: only non-temporal stores need fences, and no store needs a flush.
  bool eadr = false;
  // Findings with different call paths are listed apart, even if their innermost calls are equal.
  bool each_path = false;
};

struct Report {
  std::vector<Finding> findings;
  std::uint64_t operations = 0, instructions = 0;
  std::uint64_t pm_stores = 0, flushes = 0, fences = 0;
  std::uint64_t regions = 0, allocations = 0, replies = 0;
  bool from_the_start = true;  // False: the recording begins at pm_roi_begin
  bool all_in_vain = true;     // False: further useless flushes were not counted
};

// Checks the program. Calls progress(share) repeatedly; if it returns false, the check ends
// (Interrupted). Throws trace::TraceError.
Report check_program(const trace::TraceFile& trace, const Options& options,
                     const std::function<bool(double)>& progress);

}  // namespace pmemsim::check
