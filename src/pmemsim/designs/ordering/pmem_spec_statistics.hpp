// The statistics of PMEM-Spec.
#pragma once

#include <cstdint>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct PmemSpecStatistics {
  std::uint64_t stores = 0, write_backs = 0, controller_changes = 0, late_persists = 0;
  std::uint64_t load_alarms = 0, false_load_alarms = 0, store_alarms = 0, false_store_alarms = 0;
  std::uint64_t stale_reads = 0, missed_stale_reads = 0, unrepaired_loads = 0;
  std::uint64_t lost_alarms = 0, interrupts = 0, aborts = 0, without_speculation = 0, assigned = 0;
  std::uint64_t overflows = 0;
  Picoseconds overflow_time{}, backed_up_time{}, abort_time{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("stores", stores, "stores", "Stores that entered the persist paths",
          origin_of("received.data_writes"));
    visit("backed_up_time_ns", backed_up_time,
          "Time in which at least one persist path was stalled", at_most("run.drained_ns"));
    visit("controller_changes", controller_changes, "stores",
          "Stores that stalled because the previous store used another controller",
          part_of("stores"));
    visit("late_persists", late_persists, "stores",
          "Stores whose latency exceeded the speculation window", part_of("stores"));
    visit("write_backs", write_backs, "lines", "Write-backs of which the controllers were notified",
          part_of("shared.evictions_taken"));
    visit("stale_reads", stale_reads, "reads", "Reads of PM that returned stale data",
          part_of("shared.pm_reads"));
    visit("load_alarms", load_alarms, "alarms", "Detected load misspeculations", at_most("stores"));
    visit("false_load_alarms", false_load_alarms, "alarms",
          "Detected load misspeculations without a stale read (false alarms)",
          part_of("load_alarms"));
    visit("missed_stale_reads", missed_stale_reads, "reads", "Stale reads that were not detected",
          part_of("stale_reads"));
    visit("store_alarms", store_alarms, "alarms", "Detected store misspeculations",
          at_most("stores"));
    visit("false_store_alarms", false_store_alarms, "alarms",
          "Detected store misspeculations between stores to different bytes of a line",
          part_of("store_alarms"));
    visit("unrepaired_loads", unrepaired_loads, "loads",
          "Loads of stale bytes in code that can't be re-executed");
    visit("assigned_ids", assigned, "IDs", "Speculation IDs assigned");
    visit("overflows", overflows, "pauses",
          "Pauses of all cores because a speculation buffer was full");
    visit("overflow_time_ns", overflow_time,
          "Total time of pauses because a speculation buffer was full", at_most("run.drained_ns"));
    visit("lost_alarms", lost_alarms, "lines",
          "Misspeculated lines that were overwritten before the handler dropped them",
          part_of("load_alarms", "store_alarms"));
    visit("interrupts", interrupts, "interrupts", "Runs of the misspeculation handler",
          part_of("load_alarms", "store_alarms"));
    visit("aborts", aborts, "regions", "Regions that were aborted and re-executed");
    visit("abort_time_ns", abort_time,
          "Total time from the decision to abort regions until they restarted",
          part_of("core.time_ns"));
    visit("without_speculation", without_speculation, "regions",
          "Regions executed without speculation", part_of("core.regions"));
  }
};

}  // namespace pmemsim
