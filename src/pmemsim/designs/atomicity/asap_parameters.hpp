// The sizes of ASAP's structures (ASAP, table 2 and section 6.2), and its traffic optimisations
// (5.1).
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// Injected faults: each disables one protective mechanism.
struct AsapFaults {
  bool dependences = false;
  bool loads = false;
  bool fence = false;
  bool flush = false;
  bool lock_bit = false;
  bool lock_wait = false;
  bool lpo_dropping = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("dependences", dependences, "no region waits for another");
    visit("loads", loads, "a region doesn't wait for regions whose data it only reads");
    visit("fence", fence, "asap_fence doesn't wait");
    visit("flush", flush, "the program's own flushes don't wait");
    visit("lock_bit", lock_bit, "data don't wait for their log");
    visit("lock_wait", lock_wait,
          "a region logs a line although an earlier region's log write of it is not persistent");
    visit("lpo_dropping", lpo_dropping,
          "a region's log writes are dropped when its data are persistent, before it may commit");
  }
};

struct AsapParameters {
  std::uint32_t cl_entries = 4;
  std::uint32_t cl_slots = 8;
  std::uint32_t dependence_entries = 128;
  std::uint32_t dependence_slots = 4;
  std::uint32_t lh_wpq_entries = 128;
  Bytes filter_size{1024};
  std::uint32_t dpo_distance = 4;
  bool dpo_coalescing = true;
  bool lpo_dropping = true;
  bool dpo_dropping = true;
  bool fence_every_region = false;
  AsapFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("cl_entries", cl_entries, {.least = 1, .most = 64},
          "Entries of a core's CL List (regions)");
    visit("cl_slots", cl_slots, {.least = 1, .most = 4096},
          "Slots of a CL List entry (lines of a region that are not persistent yet)");
    visit("dependence_entries", dependence_entries, {.least = 1, .most = 65536},
          "Entries of a channel's Dependence List (uncommitted regions)");
    visit("dependence_slots", dependence_slots, {.least = 1, .most = 4096},
          "Slots of a Dependence List entry (regions on which the region depends)");
    visit("lh_wpq_entries", lh_wpq_entries, {.least = 1, .most = 65536},
          "Entries of a channel's log header write pending queue (headers)");
    visit(
        "filter_size", filter_size, {.least = 1, .most = 1 << 30},
        "Size of a channel's Bloom filter of lines that were evicted before their owner's commit");
    visit("dpo_distance", dpo_distance, {.least = 1, .most = 4096},
          "Number of writes to other lines after which a line's data persist operation starts");
    visit("dpo_coalescing", dpo_coalescing, {},
          "Whether data persist operations wait for that distance, instead of starting at every "
          "write");
    visit("lpo_dropping", lpo_dropping, {},
          "Whether a committed region's log writes are removed from the write pending queues");
    visit("dpo_dropping", dpo_dropping, {},
          "Whether a data write is removed from its queue when a later region logs the same line");
    visit("fence_every_region", fence_every_region, {},
          "Whether every region ends with an asap_fence, as if the program called it (ASAP, 6.4)");
  }
};

}  // namespace pmemsim
