// Parameters of the simple ordering layers: the mechanisms that injected faults can disable.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Injected faults: each disables one protective mechanism.
struct X86Faults {
  bool flush = false;
  bool fence = false;
  bool snoop = false;
  bool evictions = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("flush", flush, "a flush doesn't write its line back");
    visit("fence", fence, "fences don't wait for flushes");
    visit("snoop", snoop, "a flush ignores lines that only other cores' caches hold modified");
    visit("evictions", evictions, "a modified line that the shared cache evicts is lost");
  }
};

struct EadrFaults {
  bool caches = false;
  bool order = false;
  bool evictions = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("caches", caches, "the caches don't survive");
    visit("order", order, "the later one of a core's two stores persists first");
    visit("evictions", evictions, "a modified line that the shared cache evicts is lost");
  }
};

struct X86Parameters {
  X86Faults faults;

  template <class Visitor>
  void describe(Visitor&) {}
};

struct EadrParameters {
  EadrFaults faults;

  template <class Visitor>
  void describe(Visitor&) {}
};

}  // namespace pmemsim
