// The steps of the software redo log that injected faults can leave out.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Injected faults: each disables one protective mechanism.
struct SoftwareRedoFaults {
  bool log_flush = false;
  bool log_fence = false;
  bool commit_flush = false;
  bool commit_fence = false;
  bool data_flush = false;
  bool data_fence = false;
  bool release_flush = false;
  bool release_fence = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("log_flush", log_flush, "the log isn't flushed");
    visit("log_fence", log_fence, "the commit word doesn't wait for the log");
    visit("commit_flush", commit_flush, "the commit word isn't flushed");
    visit("commit_fence", commit_fence, "data don't wait for the commit word");
    visit("data_flush", data_flush, "data aren't flushed");
    visit("data_fence", data_fence, "the log is released before the data are in place");
    visit("release_flush", release_flush, "the log's release isn't flushed");
    visit("release_fence", release_fence,
          "regions end and locks are released before the log's release is durable");
  }
};

struct SoftwareRedoParameters {
  SoftwareRedoFaults faults;

  template <class Visitor>
  void describe(Visitor&) {}
};

}  // namespace pmemsim
