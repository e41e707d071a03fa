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
    visit("loads", loads, "a region doesn't wait for those of which it only reads");
    visit("fence", fence, "asap_fence doesn't wait");
    visit("flush", flush, "a flush of the program's own doesn't wait");
    visit("lock_bit", lock_bit, "data don't wait for their log");
    visit("lock_wait", lock_wait,
          "a region logs a line although an "
          "earlier region's log write of it is not persistent");
    visit("lpo_dropping", lpo_dropping,
          "a region's log writes are dropped "
          "when its data are persistent, before it may commit");
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
    visit("cl_entries", cl_entries, {.least = 1, .most = 64}, "CL List: regions of a core");
    visit("cl_slots", cl_slots, {.least = 1, .most = 4096},
          "CL List: lines of a region that still have to persist");
    visit("dependence_entries", dependence_entries, {.least = 1, .most = 65536},
          "Dependence List: uncommitted regions of a channel");
    visit("dependence_slots", dependence_slots, {.least = 1, .most = 4096},
          "Dependence List: regions that a region depends on");
    visit("lh_wpq_entries", lh_wpq_entries, {.least = 1, .most = 65536},
          "Log header write pending queue: headers of a channel");
    visit("filter_size", filter_size, {.least = 1, .most = 1 << 30},
          "Bloom filter of a channel: lines evicted while their owner is uncommitted");
    visit("dpo_distance", dpo_distance, {.least = 1, .most = 4096},
          "Writes to other lines after which a line's data persist operation starts");
    visit("dpo_coalescing", dpo_coalescing, {},
          "Wait for that distance, instead of persisting the data of every write");
    visit("lpo_dropping", lpo_dropping, {},
          "Remove a committed region's log writes from the write pending queues");
    visit("dpo_dropping", dpo_dropping, {},
          "Remove a data write from its queue when a later region logs the same line");
    visit("fence_every_region", fence_every_region, {},
          "Behave as if the program called asap_fence after every region (ASAP, 6.4)");
  }
};

}  // namespace pmemsim
