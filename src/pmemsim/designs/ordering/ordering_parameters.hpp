// What of the ordering layers can be left out, to see what it is good for.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Deliberate defects, so that crash tests can show that they would find them.
struct X86Defects {
  bool flush = false;
  bool fence = false;
  bool snoop = false;
  bool evictions = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit.defect("flush", flush, "a flush doesn't write its line back");
    visit.defect("fence", fence, "fences don't wait for flushes");
    visit.defect("snoop", snoop,
                 "a flush takes a line for clean that "
                 "the core's own caches don't hold modified, whatever the other caches hold");
    visit.defect("evictions", evictions,
                 "a modified line that the shared "
                 "cache evicts is lost");
  }
};

struct EadrDefects {
  bool caches = false;
  bool order = false;
  bool evictions = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit.defect("caches", caches, "the caches don't survive");
    visit.defect("order", order,
                 "of two stores of a core the later one "
                 "is persistent first");
    visit.defect("evictions", evictions,
                 "a modified line that the shared "
                 "cache evicts is lost");
  }
};

struct X86Parameters {
  X86Defects defects;

  template <class Visitor>
  void describe(Visitor& visit) {
    defects.describe(visit);
  }
};

struct EadrParameters {
  EadrDefects defects;

  template <class Visitor>
  void describe(Visitor& visit) {
    defects.describe(visit);
  }
};

}  // namespace pmemsim
