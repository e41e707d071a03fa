// What of the software redo log can be left out, to see what it is good for.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Deliberate defects, so that crash tests can show that they would find them.
struct SoftwareRedoDefects {
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
    visit.defect("log_flush", log_flush, "the log isn't flushed");
    visit.defect("log_fence", log_fence, "the commit word doesn't wait for the log");
    visit.defect("commit_flush", commit_flush, "the commit word isn't flushed");
    visit.defect("commit_fence", commit_fence, "data don't wait for the commit word");
    visit.defect("data_flush", data_flush, "data aren't flushed");
    visit.defect("data_fence", data_fence, "the log is released before the data are in place");
    visit.defect("release_flush", release_flush, "the log's release isn't flushed");
    visit.defect("release_fence", release_fence,
                 "regions end, and locks go, before the log's release is durable");
  }
};

struct SoftwareRedoParameters {
  SoftwareRedoDefects defects;

  template <class Visitor>
  void describe(Visitor& visit) {
    defects.describe(visit);
  }
};

}  // namespace pmemsim
