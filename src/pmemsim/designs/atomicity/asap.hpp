// ASAP: architecture support for asynchronous persistence (Abulila et al., ISCA 2022). An undo log
// whose regions commit some time after they have ended, in the order of their dependences.
//
// Rules in the paper's terms, with its sections:
//   4.4  Thread State Registers: the core's log ring and its latest region.
//   4.5  asap_begin() takes an entry in the CL List and one in the Dependence List. The core's
//        previous region is a control dependence while it is in the Dependence List.
//   4.6  The first write of a region to a line sets LockBit and OwnerRID, adds a log entry, and
//        starts a log persist operation (LPO) in the background. Every write occupies a CLPtr slot.
//        A data persist operation (DPO) starts when four other lines have been written, or at the
//        region's end, once the LockBit is clear. Every access to a line that another uncommitted
//        region owns adds a data dependence.
//   4.7  asap_end() marks the CL List entry Done; execution continues.
//   4.8  When the CL List entry is Done and has no CLPtr left, the Dependence List entry becomes
//        Done. When that has no Dep left either, the region commits: its log is freed, its entry is
//        cleared, and its completion is broadcast.
//   5.1  Traffic: DPO coalescing, LPO dropping, DPO dropping.
//   5.2  asap_fence() stalls until the core's latest region commits.
//   5.3  A line may leave the shared cache while its owner is uncommitted. Then the owner is saved
//        in a buffer in DRAM, and the line is added to the channel's Bloom filter. A read of PM
//        whose line is in the filter reads the buffer as well, and completes when both have
//        answered. The filters are cleared when no region is uncommitted. A locked line can't
//        leave.
//   5.5  A log record has a header and seven entries. The latest record's header stays in the
//        LH-WPQ.
//   5.6  The low bits of a region's number select the channel of its Dependence List entry.
//   5.7  At a context switch, all DPOs of the thread start. The thread and its registers leave the
//        core when the DPOs have cleared its CLPtr slots. Its current region continues when the
//        thread continues.
// The hardware (here the store queue) stalls when a list, its slots or the LH-WPQ are full.
//
// Decisions of this model where the paper leaves something open:
//   - A region's first store to a line that an earlier region's LPO still locks stalls. One LockBit
//     can't represent two LPOs. If the later LPO, on another channel, persisted first, recovery
//     would restore the earlier region's data, and could not undo them. The stall lasts at most for
//     the LPO's round trip, 41 ns on ASAP's machine while the WPQ has room. It changes no time in
//     any run of figures 7 and 8 (pmemsim.faults=asap.lock_wait removes it); at 16 times PM's
//     latency, runs take 0.2% longer (queue, 2 threads), with a WPQ of 4 entries up to 3%
//     (hashmap with 2 items).
//   - Regions conflict by lines. If each of two regions writes lines of the other before it ends
//     (false sharing between locks, or no isolation), neither could ever commit. The dependence
//     that would close the cycle is left out and counted (asap.cycles). A crash may then leave one
//     of the two in part: no order in which whole regions are undone is right.
//   - The program's own flush stalls until the line's log entry and the data operations of the
//     thread's current region are persistent. It also stalls until no other uncommitted region has
//     the line in its log: recovery would undo the data that the flush has made persistent. It
//     doesn't stall for a region that is in progress (false sharing), or that depends on such a
//     region: these regions may stall for the flush's own thread.
//   - asap_fence() within a region stalls for the regions before it.
//   - A region that acquires locks inside stalls for Dep slots only if a region that it already
//     depends on can commit without any progress of a thread.
//
// Why no dependence is missing:
//   - The layer receives a load when it retires. The core may then be ahead, in simulated time, of
//     other cores and of its own stores.
//   - A thread that reads another region's data has acquired a lock or an atomic variable before.
//     The writer had released it after its store had left the store queue, which sets the owner.
//     Acquires are simulated in the order of simulated time, and later loads retire after them.
//   - Stores of the reader's own core belong to its current region or to earlier regions, which the
//     control dependence covers.
//   - If a region's begin is still in the store queue, the region gets the dependence when it
//     begins. It has written nothing until then.
//   - A dependence may be unnecessary, if the owner commits between the call and the load's own
//     time. It disappears with that commit, before a crash could expose it.
//
// Not modelled:
//   - the latency of broadcasts and of look-ups in the Dependence Lists (the paper gives none);
//   - the cost of an exception when a log ring overflows (it is counted, log.growths, and the ring
//     grows);
//   - the stall of a load that finds all Dep slots occupied: the core's next store or region end
//     stalls instead;
//   - migration: a thread that leaves its core (core.time_slice) returns to the same core, and its
//     registers and those of the core are the same here;
//   - nested regions (4.5): they are flattened before they reach this layer.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/atomicity/asap_owner_buffer.hpp"
#include "pmemsim/designs/atomicity/asap_parameters.hpp"
#include "pmemsim/designs/atomicity/asap_regions.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/hardware_log.hpp"
#include "pmemsim/designs/interface/persist_port.hpp"

namespace pmemsim {

struct AsapStatistics {
  std::uint64_t committed = 0, lpos = 0, dpos = 0;
  std::uint64_t dpos_dropped = 0, late_evictions = 0, most_uncommitted = 0;
  std::uint64_t control_dependences = 0, data_dependences = 0, cycles = 0;
  std::uint64_t cl_stalls = 0, dependence_stalls = 0, slot_stalls = 0, lh_wpq_stalls = 0;
  std::uint64_t lock_stalls = 0, delayed_flushes = 0;
  std::uint64_t delayed_evictions = 0, owners_saved = 0;
  std::uint64_t buffer_reads = 0, buffer_reads_in_vain = 0;
  Picoseconds commit_delay{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("committed", committed, "regions", "Committed regions", share_of("core.regions"));
    visit("lpos", lpos, "lines", "Log persist operations", share_of("log.entries"));
    visit("dpos", dpos, "lines", "Data persist operations", origin_of("received.data_writes"));
    visit("dpos_dropped", dpos_dropped, "lines",
          "Data writes removed from the write pending queues", origin_of("received.dropped"));
    visit("control_dependences", control_dependences, "dependences",
          "Dependences on the core's own previous region", at_most("committed"));
    visit("data_dependences", data_dependences, "dependences",
          "Dependences on the owner of a line");
    visit("cycles", cycles, "dependences",
          "Dependences omitted because the owner already waits for the region: no isolation by "
          "lines");
    visit("cl_stalls", cl_stalls, "stalls", "Regions that stalled for a CL List entry",
          part_of("core.regions"));
    visit("dependence_stalls", dependence_stalls, "stalls",
          "Stalls for an entry or a slot of the Dependence List");
    visit("slot_stalls", slot_stalls, "stalls", "Stores that stalled for a CLPtr slot");
    visit("lh_wpq_stalls", lh_wpq_stalls, "stalls", "Stores that stalled for the LH-WPQ");
    visit("lock_stalls", lock_stalls, "stalls",
          "First stores of a region that stalled for an earlier region's LockBit");
    visit("delayed_flushes", delayed_flushes, "flushes",
          "The program's own flushes that stalled for a log entry or a commit",
          part_of("core.flushes", "core.stores"));
    visit("delayed_evictions", delayed_evictions, "lines", "Postponed evictions of locked lines",
          part_of("shared.evictions_taken"));
    visit.quantity("late_evictions", late_evictions, part_of("delayed_evictions"),
                   origin_of("received.data_writes"));
    visit("owners_saved", owners_saved, "lines",
          "Evicted lines whose owner had not committed (kept in the DRAM buffer)",
          origin_of("dram.writes"));
    visit("buffer_reads", buffer_reads, "reads",
          "PM lines whose read also looks up their owner in the DRAM buffer",
          part_of("shared.pm_reads"), origin_of("dram.reads"));
    visit("buffer_reads_in_vain", buffer_reads_in_vain, "reads",
          "Such reads that find no uncommitted owner: the Bloom filter was wrong, or is not "
          "cleared",
          part_of("buffer_reads"));
    visit("commit_delay_ns", commit_delay, "Total time from regions' ends to their commits",
          at_most("run.drained_ns").times(most_uncommitted));
  }
};

class Asap final : public Atomicity {
 public:
  Asap(const HardwareLog::Shape& shape, const AsapParameters& parameters,
       const HardwareLogParameters& log);
  // ASAP, 6.2.
  static Storage storage(const AsapParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context) override;

  Lowering lowering() const override;
  std::uint32_t interests() const override {
    return kStores | kLoads | kRegions | kEvictions | kCleanEvictions | kFetches | kFlushes;
  }

  bool commits_synchronously() const override { return parameters_.fence_every_region; }

  bool region_begin(CoreId core, std::uint64_t region, Time when, Completion resume) override;
  bool region_end(CoreId core, std::uint64_t region, Time when, Completion resume) override;
  bool fence_regions(CoreId core, Time when, Completion resume) override;
  bool context_switch(CoreId core, Time when, Completion resume) override;
  bool store(const Store& store, Time when, Completion resume) override;
  bool flush(CoreId core, Line line, Time when, Completion resume) override;
  void load(const Load& load, Time when) override;
  Eviction evicted(Line line, const LineData& data, Time when) override;
  bool may_leave(Line line) const override {
    const auto found = tags_.find(line.number);
    return found == tags_.end() || found->second.locks == 0;
  }
  void evicted_clean(Line line, Time when) override;
  bool fetch(CoreId core, Line line, Time when, Completion done) override;

  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;
  std::string remedy() const override;

  using Rid = AsapRegions::Rid;
  static Rid rid(CoreId core, std::uint64_t region);

  // The state that survives a crash, besides PM and the write pending queues (5.5): the Dependence
  // Lists, the LH-WPQs, and the cores' registers LogAddress and LogSize.
  struct Survivors {
    // The uncommitted regions in ascending order, each with the regions that it depends on.
    std::vector<std::pair<Rid, std::vector<Rid>>> dependences;
    LogSurvivors log;
  };
  Survivors survivors() const;

  // The contents of all structures, for inspection.
  struct ClEntry {
    bool done = false;        // true: Done; false: in progress
    std::vector<Line> slots;  // CLPtr
  };
  struct DependenceEntry {
    bool done = false;
    std::uint32_t channel = 0;
    std::vector<Rid> slots;  // Dep
  };
  struct TagExtension {
    Rid owner = 0;
    bool locked = false;
  };
  struct Snapshot {
    std::map<Rid, ClEntry> cl_list;
    std::map<Rid, DependenceEntry> dependence_list;
    std::map<Line, TagExtension> tags;
    std::map<Line, LogHeader> lh_wpq;  // by LogHeaderAddr
  };
  Snapshot snapshot() const;

 private:
  // Cache line tag extensions, and their copies in the DRAM buffer.
  struct Tag {
    Rid owner = 0;
    std::uint32_t locks = 0;  // number of unacknowledged log persist operations
    bool evicted = false;     // true if evicted while it was locked
    bool awaited = false;     // true if a data persist operation is delayed by the LockBit
  };
  enum class Blocked : std::uint8_t { kNo, kBegin, kStore, kEnd, kFlush, kSwitch };
  struct PerCore {
    Rid latest = 0;  // CurRID
    std::vector<std::pair<Rid, Rid>>
        early;  // dependences of loads that retired before their region began
    // The state of the head of the store queue, if it stalls.
    Blocked blocked = Blocked::kNo;
    std::string_view full;     // if a begin or store stalls: parameter of the full list, if any
    std::uint64_t number = 0;  // number of the region that begins
    Line flushed;
    Line line;  // the latest store's line, its offset in the line and its value
    std::uint32_t offset = 0, size = 0;
    LineData value{};
    bool storing = false;  // true if the store is allowed, but may not have reached the cache
    Completion resume;
    Rid fence = 0;  // the region that asap_fence() stalls for; 0: none
    Completion fence_resume;
  };

  bool block(CoreId core, Blocked why, Completion resume);
  void make_visible(CoreId core);
  bool try_begin(CoreId core);
  bool try_store(CoreId core);
  bool try_end(CoreId core, Time now);
  bool may_flush(CoreId core) const;
  bool may_switch(CoreId core) const;
  void retry(Time now);
  void depend(AsapRegion& region, Rid on, std::uint64_t& counter);
  void header_space_freed(std::uint64_t, Time now) { retry(now); }
  void log(const PerCore& core, AsapRegion& region, Tag& tag);
  void written(AsapRegion& region, AsapSlot& slot, Line line);
  LineData old_value(const PerCore& writer) const;
  void unlock(AsapRegion& logger, Line line);
  void start_dpo(AsapRegion& region, AsapSlot& slot);
  void finish_lines(AsapRegion& region, Time now);
  void commit(Rid self, Time now, std::vector<Rid>& ready);
  void save_owner(Line line);

  // Events.
  void lpo_persisted(std::uint64_t operation, Time now);
  void lpo_acknowledged(std::uint64_t operation, Time now);
  void dpo_acknowledged(std::uint64_t operation, Time now);
  void outstanding_acknowledged(std::uint64_t operation, Time now);
  void lines_persisted(std::uint64_t rid, Time now);

  // The subject of an event that is in flight.
  struct Operation {
    Rid rid;
    Line line;
  };
  std::uint32_t operation(const Operation& about);
  Operation take(std::uint64_t operation);
  void drop_data(const Operation& logged);

  const AsapParameters parameters_;
  std::optional<LayerContext> context_;
  PersistPort port_;
  std::vector<PerCore> cores_;
  HardwareLog log_;
  AsapRegions regions_;
  AsapOwnerBuffer owners_;
  std::uint32_t blocked_ = 0;  // number of stalled cores
  std::unordered_map<std::uint64_t, Tag> tags_;
  Slab<Operation> operations_;
  AsapStatistics statistics_;
};

}  // namespace pmemsim
