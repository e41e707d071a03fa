// Rule P1 of program_check.hpp: the stores whose lines nothing has flushed at the recording's end.
//
// Rules can't decide about some of these stores, which are notes:
//
//   N1  tag_bits: the store clears only tag bits (the lowest 3 and the highest 16) of a pointer
//   into
//       PM, and the word was persistent before. A crash that loses the store leaves the tags, which
//       link-and-persist structures tolerate.
//   N2  sequence: the word is the sequence word of a seqlock. Every store increments it by one, or
//       clears it. Each increment to an even number follows, in the same thread, one to an odd
//       number from another source line or caller, with other stores to PM between both.
//   N3  unreferenced: the memory may have been freed. No 8-byte word of PM has, at the end, an
//       address or an offset (from its PM region's begin) within the stores of this source line and
//       call path, and the program has loaded nothing from it. The program has stored references
//       (stored_references.hpp) to memory below it and to the line behind each of its runs of
//       lines, as if these were objects of one allocator.
//   N8  redo_log: all stored words have valid copies in a redo log (redo_copies.hpp).
//   N9  free_list: the words link unreachable memory (free_lists.hpp).
#pragma once

#include "pmemsim/checks/rules/allocations.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/redo_copies.hpp"
#include "pmemsim/checks/rules/stored_references.hpp"
#include "pmemsim/checks/rules/touched.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim::check {

struct NeverFlushedCheck {
  Findings& findings;
  const Lines& lines;
  const Allocations& allocations;
  const StoredReferences& references;
  const RedoCopies& redo_copies;
  const Image& memory;    // Contents at the end
  const Touched& loaded;  // Lines of PM that the program has loaded from
};
// Reports the findings when all threads have ended.
void report_never_flushed(const NeverFlushedCheck& check);

}  // namespace pmemsim::check
