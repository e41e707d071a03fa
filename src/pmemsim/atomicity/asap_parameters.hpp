// What ASAP's structures hold (ASAP, table 2 and section 6.2), and its traffic optimisations (5.1).
#pragma once

#include "pmemsim/core/parameters.hpp"

namespace pmemsim {

struct AsapParameters {
  std::uint32_t cl_entries = 4;
  std::uint32_t cl_slots = 8;
  std::uint32_t dependence_entries = 128;
  std::uint32_t dependence_slots = 4;
  std::uint32_t lh_wpq_entries = 128;
  std::uint32_t dpo_distance = 4;
  bool dpo_coalescing = true;
  bool lpo_dropping = true;
  bool dpo_dropping = true;

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
    visit("dpo_distance", dpo_distance, {.least = 1, .most = 4096},
          "Writes to other lines after which a line's data persist operation starts");
    visit("dpo_coalescing", dpo_coalescing, {},
          "Wait for that distance, instead of persisting the data of every write");
    visit("lpo_dropping", lpo_dropping, {},
          "Remove a committed region's log writes from the write pending queues");
    visit("dpo_dropping", dpo_dropping, {},
          "Remove a data write from its queue when a later region logs the same line");
  }
};

}  // namespace pmemsim
