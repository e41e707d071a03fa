// Finds calls of pm_log that a program doesn't need. Recovery leaves the same memory after each
// crash of the program without them.
//
// Without a call, later entries of the log move, so crash images differ. The proof therefore is
// about the memory after recovery. pm.h's recovery restores each logged line of a region that has
// not committed. The log itself is not part of the memory. Other lines are unchanged.
//
// Without a call, a line is logged by the next call of the region that declares it, if there is
// one. The call is needless if rule 1 or 2 holds for each line that it logs, and rules 3 and 4
// hold, in all of its executions:
//
//   1  The region has allocated the line before. If the region does not commit, the line is free,
//      and its contents don't matter (pm.h's rule 1).
//   2  The line is clean (log_facts.hpp), and nothing is stored to it until the region ends or
//      the next call logs it. Recovery restores what is there.
//   3  Fences that the library no longer executes are its own (log_facts.hpp): they order nothing
//      else. The library does not flush and fence at the end of a region that has no data, and
//      doesn't commit a region that has no log.
//   4  No other execution needs a fence that it did not need before.
//
// A call without these properties is replaceable if each region in which it logs stores to one
// aligned word, once, and logs only its line: rule 3 holds, and the line is clean. The word is
// persistent or not, as after recovery. The program then flushes and fences instead of logging.
//
// The proof is about the recorded order of the threads' operations (visible_order.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/checks/rules/logged_regions.hpp"
#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

struct NeedlessLog {
  LogCall call;
  std::uint32_t range = 0;  // Number of the range, from 1; 0: the whole call
  std::uint64_t executed = 0;
  // Why it is needless: "allocated in the region", "not stored to", "logged later", "logged
  // before", or several of them.
  std::vector<std::string> reasons;
  bool one_word = false;      // Replaceable
  trace::LeftOut operations;  // Operations that the program doesn't execute without it
};

struct NeedlessLogs {
  std::vector<NeedlessLog> each;
  trace::LeftOut together;  // Without all of them, apart from replaceable ones
};

// Returns the needless calls of a program with pm.h's undo log. All can be removed together; of two
// that make each other needless, the first one stays. Flushes and fences may be left out of the
// program. Throws trace::TraceError.
NeedlessLogs needless_logs(const trace::TraceFile& trace, const trace::LeftOut& left_out);

}  // namespace pmemsim::check
