// ASAP: architecture support for asynchronous persistence (Abulila et al., ISCA 2022). An undo log
// whose regions commit some time after they have ended, in the order of their dependences.
//
// In the paper's words, with its sections:
//   4.4  Thread State Registers: the core's log ring and its latest region.
//   4.5  asap_begin(): an entry in the CL List and one in the Dependence List; the core's previous
//        region is a control dependence while it is in the list.
//   4.6  First write of a region to a line: LockBit, OwnerRID, a log entry, a log persist operation
//        (LPO) in the background. Every write: a CLPtr slot. A data persist operation (DPO) starts
//        when four other lines have been written, or at the region's end, once the LockBit is
//        clear. Every access to a line that another uncommitted region owns: a data dependence.
//   4.7  asap_end(): the CL List entry is Done; execution goes on.
//   4.8  No CLPtr left and Done: the Dependence List entry is Done. No Dep left either: the region
//        commits: its log is freed, its entry cleared, its completion broadcast.
//   5.1  Traffic: DPO coalescing, LPO dropping, DPO dropping.
//   5.2  asap_fence(): waits for the core's latest region.
//   5.3  An eviction doesn't forget the owner (the DRAM buffer); a locked line doesn't leave.
//   5.5  Records of a header and seven entries; the header of the latest stays in the LH-WPQ.
//   5.6  A region's Dependence List entry is in the channel that its number's low bits say.
// The hardware stalls, here the store queue, when a list, its slots or the LH-WPQ are full.
//
// Not modelled: how long broadcasts between controllers take; the DRAM buffer's reads, which go on
// beside those of PM; a load that finds all Dep slots occupied lets the core's next store or region
// boundary wait instead of itself.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pmemsim/atomicity/asap_parameters.hpp"
#include "pmemsim/atomicity/atomicity.hpp"
#include "pmemsim/atomicity/hardware_log_parameters.hpp"
#include "pmemsim/atomicity/log_record.hpp"
#include "pmemsim/atomicity/persist_port.hpp"
#include "pmemsim/atomicity/sequential_log.hpp"

namespace pmemsim {

struct AsapStatistics {
  std::uint64_t committed = 0, lpos = 0, dpos = 0, headers = 0;
  std::uint64_t lpos_dropped = 0, dpos_dropped = 0;
  std::uint64_t control_dependences = 0, data_dependences = 0;
  std::uint64_t cl_stalls = 0, dependence_stalls = 0, slot_stalls = 0, lh_wpq_stalls = 0;
  std::uint64_t delayed_evictions = 0, owners_saved = 0, growths = 0;
  Picoseconds commit_delay{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("committed", committed, "regions", "Regions committed");
    visit("lpos", lpos, "lines", "Log persist operations");
    visit("dpos", dpos, "lines", "Data persist operations");
    visit("headers", headers, "lines", "Headers of full records written to PM");
    visit("lpos_dropped", lpos_dropped, "lines", "Log writes removed from the queues");
    visit("dpos_dropped", dpos_dropped, "lines", "Data writes removed from the queues");
    visit("control_dependences", control_dependences, "dependences",
          "Dependences on the core's own previous region");
    visit("data_dependences", data_dependences, "dependences",
          "Dependences on the owner of a line");
    visit("cl_stalls", cl_stalls, "stalls", "Regions that waited for a CL List entry");
    visit("dependence_stalls", dependence_stalls, "stalls",
          "Waits for an entry of the Dependence List, or for one of its slots");
    visit("slot_stalls", slot_stalls, "stalls", "Stores that waited for a CLPtr slot");
    visit("lh_wpq_stalls", lh_wpq_stalls, "stalls", "Stores that waited for the LH-WPQ");
    visit("delayed_evictions", delayed_evictions, "lines", "Evictions of locked lines, put off");
    visit("owners_saved", owners_saved, "lines",
          "Evicted lines whose owner had not committed (kept in the DRAM buffer)");
    visit("growths", growths, "times", "Log rings that had to grow");
    visit("commit_delay_ns", commit_delay, "From regions' ends to their commits, in sum");
  }
};

class Asap final : public Atomicity {
 public:
  Asap(std::uint32_t cores, std::uint32_t channels, const AsapParameters& parameters,
       const HardwareLogParameters& log);
  void connect(const LayerContext& context) override;

  Lowering lowering() const override;
  std::uint32_t interests() const override { return kStores | kLoads | kRegions | kEvictions; }

  bool region_begin(CoreId core, std::uint64_t region, Picoseconds when,
                    Completion resume) override;
  bool region_end(CoreId core, std::uint64_t region, Picoseconds when, Completion resume) override;
  bool fence_regions(CoreId core, Picoseconds when, Completion resume) override;
  bool store(const Store& store, Picoseconds when, Completion resume) override;
  void load(CoreId core, Line line, std::uint64_t region, Picoseconds when) override;
  Eviction evicted(Line line, const LineData& data, Picoseconds when) override;

  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

  using Rid = std::uint64_t;  // core and the core's number of the region
  static Rid rid(CoreId core, std::uint64_t region);

  // What a crash leaves beside PM and the write pending queues (5.5): the Dependence Lists, the
  // LH-WPQs, and the cores' registers LogAddress and LogSize.
  struct Survivors {
    struct Log {
      Line first;
      std::uint64_t lines;
    };
    std::map<Rid, std::vector<Rid>> dependences;  // of every uncommitted region
    std::vector<BufferedHeader> headers;
    std::vector<Log> logs;  // by core
  };
  Survivors survivors() const;

 private:
  // A CLPtr slot: a line whose data have to persist.
  struct Slot {
    Line line;
    std::uint32_t distance = 0;   // writes to other lines since its own last one
    std::uint32_t in_flight = 0;  // data persist operations without acknowledgement
    bool wanted = true;           // one more has to start
    bool due = false;             // as soon as the line is unlocked and the store visible
    bool invisible = false;       // its last store has still to reach the cache
  };
  struct Record {
    Line place;
    LogHeader header;
    std::uint32_t entries = 0;
    bool in_lh_wpq = true;
  };
  // An uncommitted region: its CL List entry (while it has one) and its Dependence List entry.
  struct Region {
    CoreId core = 0;
    bool ended = false;      // CL List: Done
    bool finished = false;   // no longer in the CL List
    bool persisted = false;  // Dependence List: Done
    std::uint32_t channel = 0;
    std::uint32_t outstanding = 0;  // log writes and put-off evictions without acknowledgement
    std::vector<Slot> slots;
    std::vector<Rid> dependences;
    std::vector<Record> records;
    std::vector<Line> lines;  // that it owns, or has owned
    Picoseconds ended_at{};
  };
  // Cache line tag extensions, and what the DRAM buffer keeps of them.
  struct Tag {
    Rid owner = 0;
    std::uint32_t locks = 0;  // log persist operations without acknowledgement
    bool evicted = false;     // while it was locked
  };
  enum class Blocked : std::uint8_t { kNo, kBegin, kStore, kEnd };
  struct PerCore {
    explicit PerCore(const SequentialLog& ring) : log(ring) {}
    Rid latest = 0;  // CurRID
    std::uint32_t cl_entries = 0;
    SequentialLog log;
    std::vector<std::pair<Rid, Rid>> early;  // dependences of loads before their region began
    // The head of the store queue, if it has to wait.
    Blocked blocked = Blocked::kNo;
    std::uint64_t region = 0;
    Line line;
    LineData before{};
    Completion resume;
    Rid fence = 0;  // waits for this region
    Completion fence_resume;
  };

  Region* active(Rid rid);
  bool block(CoreId core, Blocked why, Completion resume);
  void settle(CoreId core);
  bool try_begin(CoreId core);
  bool try_store(CoreId core);
  bool try_end(CoreId core, Picoseconds now);
  void retry(Picoseconds now);
  template <class Predicate>
  bool any_before(Rid rid, Predicate predicate) const;
  bool will_commit(Rid rid) const;
  bool must_wait(const Region& region, std::size_t more) const;
  void depend(Region& region, Rid self, Rid on, std::uint64_t& counter);
  void log(CoreId core, Rid self, Region& region, Tag& tag);
  void lpo_persisted(std::uint64_t operation, Picoseconds now);
  void lpo_acknowledged(std::uint64_t operation, Picoseconds now);
  void header_persisted(std::uint64_t operation, Picoseconds now);
  void unlock(Rid self, Line line, Picoseconds now);
  void start_dpo(Rid self, Region& region, Slot& slot);
  void dpo_acknowledged(std::uint64_t operation, Picoseconds now);
  void outstanding_acknowledged(std::uint64_t operation, Picoseconds now);
  void finish_lines(Rid self, Picoseconds now);
  void lines_persisted(std::uint64_t rid, Picoseconds now);
  void commit_ready(Picoseconds now);
  void commit(Rid self, Picoseconds now);
  void drop_logs(const Region& region);

  // What an event is about, while it is under way.
  struct Operation {
    Rid rid;
    Line line;
    std::uint32_t record, entry;
  };
  std::uint32_t operation(const Operation& about);
  Operation take(std::uint64_t operation);

  const AsapParameters parameters_;
  std::optional<LayerContext> context_;
  PersistPort port_;
  std::vector<PerCore> cores_;
  std::vector<std::uint32_t> dependence_entries_, lh_wpq_entries_;  // in use, by channel
  std::map<Rid, Region> active_;
  std::unordered_map<std::uint64_t, Tag> tags_;
  Slab<Operation> operations_;
  AsapStatistics statistics_;
};

}  // namespace pmemsim
