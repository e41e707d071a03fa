#include "pmemsim/machine/cpu/core_statistics.hpp"

namespace pmemsim {

CoreStatistics& CoreStatistics::operator+=(const CoreStatistics& other) {
  operations += other.operations;
  instructions += other.instructions;
  external_instructions += other.external_instructions;
  unknown_instructions += other.unknown_instructions;
  loads += other.loads;
  forwarded_loads += other.forwarded_loads;
  stores += other.stores;
  private_misses += other.private_misses;
  branches += other.branches;
  mispredicted_branches += other.mispredicted_branches;
  indirect_branches += other.indirect_branches;
  mispredicted_targets += other.mispredicted_targets;
  returns += other.returns;
  mispredicted_returns += other.mispredicted_returns;
  flushes += other.flushes;
  fences += other.fences;
  locks += other.locks;
  regions += other.regions;
  context_switches += other.context_switches;
  translations += other.translations;
  tlb_misses += other.tlb_misses;
  prefetches += other.prefetches;
  used_prefetches += other.used_prefetches;
  page_walks += other.page_walks;
  region_time += other.region_time;
  drained_region_time += other.drained_region_time;
  region_latencies += other.region_latencies;
  return *this;
}

}  // namespace pmemsim
