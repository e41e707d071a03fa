// Copies of a recording with flushes and fences added or left out. No value depends on a flush or a
// fence. So the copy is also a recording of the program that has been changed in this way, in the
// same order of its threads.
//
//   1  A flush or fence that is left out becomes an operation without effect. It has the same
//      number, and one instruction less. Any operation may be skipped: it becomes one without
//      effect and without instructions. Marks are not skipped. The copy is then a recording of the
//      changed program only if nothing else depends on the skipped operations.
//   2  A flush is added behind a statement: clwb of each line of persistent memory that the
//      statement has stored to, or loaded from, since it began. A fence is added behind that (or
//      behind the stores alone), or before the first store. A statement is a source line; it ends
//      at the first operation of another line.
//   3  A fence behind a call that flushes precedes the thread's next store, other flush, fence,
//      mark or synchronisation.
//   4  An added operation has one instruction, and the source line of its anchor.
//   5  New operations have sites of their own, behind those of their anchors. So sites have other
//      numbers than in the recording, and a machine's predictors other entries. Times are compared
//      between copies with the same table of sites: with the same statements, and the same
//      operations that are left out, skipped or `reserved`. One of them changes `only_sites`.
//   6  Turns and races refer to the same operations as before. An added flush or fence belongs to
//      the turn of the operation before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

struct Edits {
  enum class What : std::uint8_t { kFlush, kFlushLoaded, kFenceBefore, kFenceAfter };
  // A flush or fence at a statement.
  struct AtStatement {
    What what;
    std::string file;
    std::uint32_t line;
  };

  LeftOut left_out{};
  LeftOut skipped{};
  LeftOut reserved{};          // Operations that other copies leave out
  LeftOut reserved_skipped{};  // Operations that other copies skip
  std::vector<AtStatement> at_statements{};
  std::vector<LeftOut> fenced_calls{};  // Flushes of calls behind which a fence is added
  bool only_sites = false;              // Change the table of sites alone
};

// Numbers of added executions.
struct Added {
  std::uint64_t flushes = 0, fences = 0;
};

// Writes the edited copy to `path`. Throws TraceError, or Error if it can't be written.
Added write_edited_copy(const TraceFile& trace, const Edits& edits, const std::string& path);

}  // namespace pmemsim::trace
