// Hardware undo log with synchronous commit, after Proteus (Shin et al., MICRO 2017) and the
// baseline "HWUndo" that ASAP models (section 6.3).
//
//   1  The first store of a region to a line sends the line's old contents to the log, past the
//      caches. The store continues meanwhile.
//   2  Log before data: a line may not leave the caches until its log entry is acknowledged. Until
//      then, flushes of the line stall, and its evictions are delayed.
//   3  The program flushes its data at the region's end and fences; the flushes overlap.
//   4  A region commits when its log entries and delayed evictions are persistent, and a crash
//      would leave its lines readable (BackendParts::publish()). The region's number is then
//      written to the core's register of the last committed region. Log writes that are still in
//      the write pending queue are dropped (log write removal).
//   5  The headers of a region's records are in a persistent queue at the controllers; a header
//      whose record is full is written to PM (hardware_log.hpp). A store whose entry needs a header
//      stalls while there is no room for it.
//
// Differences from Proteus: Proteus has log instructions, which execute ahead of the store; the
// store stalls for them in the store queue. In this model rule 2 delays the line instead, like
// ATOM's posted log. Proteus logs 32 bytes with their address in one line; ASAP's baseline, and
// this model, store metadata separately.
//
// These survive a crash: the registers of the committed regions, the headers in the buffer, PM and
// the write pending queues. Recovery (designs/atomicity/hw_undo_recovery.hpp) undoes the records of
// regions after the committed one.
#pragma once

#include <optional>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/hardware_log.hpp"
#include "pmemsim/designs/interface/persist_port.hpp"

namespace pmemsim {

struct HwUndoStatistics {
  std::uint64_t committed = 0, delayed_flushes = 0, delayed_evictions = 0, header_stalls = 0;
  std::uint64_t late_evictions = 0;
  Picoseconds commit_latency{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("committed", committed, "regions", "Committed regions", share_of("core.regions"));
    visit("commit_latency_ns", commit_latency, "Total stall time at the ends of regions",
          part_of("core.time_ns"));
    visit("delayed_flushes", delayed_flushes, "flushes", "Flushes that stalled for a log entry",
          part_of("core.flushes", "core.stores"));
    visit("delayed_evictions", delayed_evictions, "lines",
          "Evictions postponed until a log entry was persistent",
          part_of("shared.evictions_taken"));
    visit.quantity("late_evictions", late_evictions, part_of("delayed_evictions"),
                   origin_of("received.data_writes"));
    visit("header_stalls", header_stalls, "stalls", "Stores that stalled for a free header");
  }
};

class HwUndo final : public Atomicity {
 public:
  HwUndo(const HardwareLog::Shape& shape, const HardwareLogParameters& parameters);
  static Storage storage(const HardwareLogParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context) override;

  Lowering lowering() const override;
  std::uint32_t interests() const override { return kStores | kRegions | kEvictions | kFlushes; }
  bool commits_synchronously() const override { return true; }
  bool restores_lines() const override { return true; }

  bool region_begin(CoreId core, std::uint64_t region, Time when, Completion) override;
  bool region_end(CoreId core, std::uint64_t region, Time when, Completion resume) override;
  bool store(const Store& store, Time when, Completion resume) override;
  bool flush(CoreId core, Line line, Time when, Completion resume) override;
  Eviction evicted(Line line, const LineData& data, Time when) override;
  bool may_leave(Line line) const override { return faults_.order || !locked_.contains(line); }

  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

  // The state that survives a crash, besides PM and the write pending queues.
  struct Survivors {
    std::vector<std::uint64_t> committed;  // by core: the last region that has committed
    LogSurvivors log;
  };
  Survivors survivors() const;

 private:
  struct PerCore {
    std::uint64_t region = 0;     // the region in progress; 0: none
    std::uint64_t committed = 0;  // register: the last region that has committed
    std::optional<HardwareLog::Id> log;
    LineTable<bool> logged;       // lines with a log entry of the region
    std::uint32_t evictions = 0;  // number of unacknowledged delayed evictions
    Time waiting_since{};
    Completion waiting;       // resumes the region's end
    bool publishing = false;  // true if only BackendParts::publish() delays the commit
    // The store that stalls for room for a header.
    Completion blocked;
    Line line;
  };
  // A line whose log entry is in flight. It has two entries if regions of two cores write it at the
  // same time, which violates isolation.
  struct Locked {
    std::uint32_t entries = 0;
    bool evicted = false;
    std::vector<Completion> flushes;
  };

  bool log(CoreId core, Line line, const LineData& before);
  void header_space_freed(std::uint64_t, Time now);
  void entry_acknowledged(std::uint64_t core_and_line, Time now);
  void eviction_acknowledged(std::uint64_t core, Time now);
  void commit_if_ready(std::uint64_t core, Time now);
  bool has_no_pending_writes(const PerCore& core) const;
  bool publish(std::uint64_t core);
  void published(std::uint64_t core, Time now);
  void commit_late(PerCore& core, Time now);
  void commit(PerCore& core);

  std::optional<LayerContext> context_;
  PersistPort port_;
  HardwareLog log_;
  const LogFaults faults_;
  std::vector<PerCore> cores_;
  LineMap<Locked> locked_;
  HwUndoStatistics statistics_;
};

}  // namespace pmemsim
