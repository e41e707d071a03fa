// What of the ordering layers can be left out, to see what it is good for.
#pragma once

#include "pmemsim/core/parameters.hpp"

namespace pmemsim {

// Deliberate defects, so that crash tests can show that they would find them.
struct X86Defects {
  bool flush = false;
  bool fence = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "flush", flush, {},
        "Deliberate defect, for tests of crash verification: a flush doesn't write its line back");
    visit("fence", fence, {},
          "Deliberate defect, for tests of crash verification: fences don't wait for flushes");
  }
};

struct X86Parameters {
  X86Defects defects;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit.group("break", defects);
  }
};

struct EadrDefects {
  bool caches = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("caches", caches, {},
          "Deliberate defect, for tests of crash verification: the caches don't survive");
  }
};

struct EadrParameters {
  EadrDefects defects;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit.group("break", defects);
  }
};

}  // namespace pmemsim
