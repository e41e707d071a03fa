// What of the software undo log can be left out, to see what it is good for.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Deliberate defects, so that crash tests can show that they would find them.
struct SoftwareUndoDefects {
  bool log_flush = false;
  bool log_fence = false;
  bool data_flush = false;
  bool data_fence = false;
  bool commit_flush = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit.defect("log_flush", log_flush, "the log isn't flushed");
    visit.defect("log_fence", log_fence, "data don't wait for their log");
    visit.defect("data_flush", data_flush, "data aren't flushed");
    visit.defect("data_fence", data_fence, "commits don't wait for the data");
    visit.defect("commit_flush", commit_flush, "the commit isn't flushed");
  }
};

struct SoftwareUndoParameters {
  SoftwareUndoDefects defects;

  template <class Visitor>
  void describe(Visitor& visit) {
    defects.describe(visit);
  }
};

}  // namespace pmemsim
