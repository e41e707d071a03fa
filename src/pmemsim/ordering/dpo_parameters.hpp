// What DPO's persist buffers have (MICRO 2016; PMEM-Spec, 8.1).
#pragma once

#include "pmemsim/core/parameters.hpp"

namespace pmemsim {

// Deliberate defects, so that crash tests can show that they would find them.
struct DpoDefects {
  bool order = false;
  bool token = false;
  bool dependences = false;
  bool snoop = false;
  bool fence = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit.defect("order", order, "of two entries of a buffer the later one leaves first");
    visit.defect("token", token, "more than one write is under way at a time");
    visit.defect("dependences", dependences, "no entry waits for another core's");
    visit.defect("snoop", snoop, "reads of PM don't ask the persist buffers");
    visit.defect("fence", fence, "fences don't wait for the persist buffer");
  }
};

struct DpoParameters {
  std::uint32_t buffer_entries = 8;
  Picoseconds path_latency{20'000};
  Delay snoop_latency = cycles(1);
  DpoDefects defects;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("buffer_entries", buffer_entries, {.least = 2, .most = 4096},
          "Persist buffer: stores and barriers of a core that aren't persistent yet");
    visit("path_latency", path_latency, {.least = 1, .most = 1e9},
          "From a core's persist buffer to the PM controllers");
    visit(
        "snoop_latency", snoop_latency, {.most = 1e6},
        "How much longer every line takes to a core's caches, for each core whose buffer is asked");
    defects.describe(visit);
  }
};

}  // namespace pmemsim
