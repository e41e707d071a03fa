// What of the ordering layers can be left out, to see what it is good for.
#pragma once

#include "pmemsim/core/parameters.hpp"

namespace pmemsim {

// Deliberate defects, so that crash tests can show that they would find them.
struct X86Defects {
  bool flush = false;
  bool fence = false;
  bool snoop = false;
  bool evictions = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "flush", flush, {},
        "Deliberate defect, for tests of crash verification: a flush doesn't write its line back");
    visit("fence", fence, {},
          "Deliberate defect, for tests of crash verification: fences don't wait for flushes");
    visit("snoop", snoop, {},
          "Deliberate defect, for tests of crash verification: a flush takes a line for clean that "
          "the core's own caches don't hold modified, whatever the other caches hold");
    visit("evictions", evictions, {},
          "Deliberate defect, for tests of crash verification: a modified line that the shared "
          "cache evicts is lost");
  }
};

struct EadrDefects {
  bool caches = false;
  bool order = false;
  bool evictions = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("caches", caches, {},
          "Deliberate defect, for tests of crash verification: the caches don't survive");
    visit(
        "order", order, {},
        "Deliberate defect, for tests of crash verification: of two stores of a core the later one "
        "is persistent first");
    visit("evictions", evictions, {},
          "Deliberate defect, for tests of crash verification: a modified line that the shared "
          "cache evicts is lost");
  }
};

}  // namespace pmemsim
