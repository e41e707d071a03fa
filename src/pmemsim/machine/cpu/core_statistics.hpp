// The statistics of a core.
#pragma once

#include <cstdint>

#include "pmemsim/common/latencies.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct CoreStatistics {
  std::uint64_t operations = 0, instructions = 0;
  std::uint64_t external_instructions = 0, unknown_instructions = 0;
  std::uint64_t loads = 0, forwarded_loads = 0, stores = 0, private_misses = 0;
  std::uint64_t branches = 0, mispredicted_branches = 0;
  std::uint64_t indirect_branches = 0, mispredicted_targets = 0;
  std::uint64_t returns = 0, mispredicted_returns = 0;
  std::uint64_t flushes = 0, fences = 0, locks = 0, regions = 0;
  std::uint64_t context_switches = 0;
  std::uint64_t translations = 0, tlb_misses = 0, page_walks = 0;
  std::uint64_t prefetches = 0, used_prefetches = 0;
  Picoseconds region_time{}, drained_region_time{};
  // The latencies of single regions, for percentiles over all cores.
  Latencies region_latencies{};

  CoreStatistics& operator+=(const CoreStatistics& other);

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("operations", operations, "operations",
          "Operations of the recording that were simulated; the design may have removed others");
    visit("instructions", instructions, "instructions", "Simulated instructions");
    visit("external_instructions", external_instructions, "instructions",
          "Simulated instructions of code that was not instrumented: estimates",
          part_of("instructions"));
    visit(
        "unknown_instructions", unknown_instructions, "instructions",
        "Simulated instructions of uninstrumented functions without a known cost: each call counts "
        "with a default",
        part_of("external_instructions"));
    visit("loads", loads, "loads", "Loads", part_of("operations"));
    visit("forwarded_loads", forwarded_loads, "loads", "Loads served by the store queue",
          part_of("loads"));
    visit("stores", stores, "stores", "Stores", part_of("operations"));
    visit("private_misses", private_misses, "lines", "Lines that missed in the private caches",
          share_of("shared.requests", "origin"));
    visit("branches", branches, "branches", "Conditional branches", part_of("operations"));
    visit("mispredicted_branches", mispredicted_branches, "branches",
          "Mispredicted conditional branches", part_of("branches"));
    visit("indirect_branches", indirect_branches, "branches", "Indirect jumps and calls",
          part_of("operations"));
    visit("mispredicted_targets", mispredicted_targets, "branches",
          "Indirect jumps and calls whose target was mispredicted", part_of("indirect_branches"));
    visit("returns", returns, "branches", "Returns from functions", part_of("operations"));
    visit("mispredicted_returns", mispredicted_returns, "branches",
          "Returns that the return-address stack mispredicted", part_of("returns"));
    visit("flushes", flushes, "flushes", "Cache line flushes", part_of("operations"));
    visit("fences", fences, "fences", "Store fences and full fences", part_of("operations"));
    visit("locks", locks, "locks", "Locks acquired", part_of("operations"));
    visit("regions", regions, "regions", "Outermost atomic regions completed");
    visit("context_switches", context_switches, "switches",
          "Number of times that a thread was descheduled from its core");
    visit.quantity("translations", translations);
    visit("tlb_misses", tlb_misses, "accesses", "Loads and stores that missed in the first TLB",
          part_of("translations"));
    visit("page_walks", page_walks, "accesses", "Loads and stores that missed in both TLBs",
          part_of("tlb_misses"));
    visit("prefetches", prefetches, "lines", "Lines that the prefetcher requested",
          share_of("shared.requests", "origin"));
    visit("used_prefetches", used_prefetches, "lines",
          "Prefetched lines used before they left the L1, or while their prefetch was in flight",
          part_of("prefetches"));
    visit("region_time_ns", region_time, "Total time from the begin to the end of regions",
          part_of("time_ns"));
    visit("drained_region_time_ns", drained_region_time,
          "Total time from the begin of regions until all their stores had left the store queue",
          at_most("run.time_ns").times(regions));
  }
};

}  // namespace pmemsim
