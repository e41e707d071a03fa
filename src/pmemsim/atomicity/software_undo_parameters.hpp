// What of the software undo log can be left out, to see what it is good for.
#pragma once

#include "pmemsim/core/parameters.hpp"

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
    visit("log_flush", log_flush, {},
          "Deliberate defect, for tests of crash verification: the log isn't flushed");
    visit("log_fence", log_fence, {},
          "Deliberate defect, for tests of crash verification: data don't wait for their log");
    visit("data_flush", data_flush, {},
          "Deliberate defect, for tests of crash verification: data aren't flushed");
    visit("data_fence", data_fence, {},
          "Deliberate defect, for tests of crash verification: commits don't wait for the data");
    visit("commit_flush", commit_flush, {},
          "Deliberate defect, for tests of crash verification: the commit isn't flushed");
  }
};

}  // namespace pmemsim
