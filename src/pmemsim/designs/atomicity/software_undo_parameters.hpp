// The steps of the software undo log that injected faults can leave out.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Injected faults: each disables one protective mechanism.
struct SoftwareUndoFaults {
  bool log_flush = false;
  bool log_fence = false;
  bool data_flush = false;
  bool data_fence = false;
  bool commit_flush = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("log_flush", log_flush, "the log isn't flushed");
    visit("log_fence", log_fence, "data don't wait for their log");
    visit("data_flush", data_flush, "data aren't flushed");
    visit("data_fence", data_fence, "commits don't wait for the data");
    visit("commit_flush", commit_flush, "the commit isn't flushed");
  }
};

struct SoftwareUndoParameters {
  SoftwareUndoFaults faults;

  template <class Visitor>
  void describe(Visitor&) {}
};

}  // namespace pmemsim
