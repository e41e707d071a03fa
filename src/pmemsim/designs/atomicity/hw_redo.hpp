// Hardware redo log with synchronous commit, after ReDU (Jeong et al., MICRO 2018): the baseline
// "HWRedo" of ASAP (section 6.3) and "REDU" of LALEA (section IV).
//
//   1  Stores of a region go to the core's log buffer, which collects the stores to a line. A full
//      buffer sends its oldest line to the log. The core doesn't wait.
//   2  A line that an uncommitted region has written doesn't go to PM: if the caches evict it, or
//      the program flushes it itself, it goes to the DRAM cache, and is read from there.
//   3  At a region's end the log buffer is emptied and the last header closed; the region commits
//      when all of its log is persistent. The core waits for that, and for nothing else.
//      hw_redo.commit_after=dram-cache: then its lines go to the DRAM cache, and it commits when
//      the core hears that they are there.
//   4  Then its lines go to the DRAM cache, and from there to their places in PM, without the core.
//      eager: at once. lazy: when the log or the DRAM cache is running full, oldest regions first;
//      a line that a later region has committed meanwhile is written once.
//   5  A log is released when its region's lines are in place, and so are those of all regions that
//      committed before it. Otherwise redoing an older region could undo a newer one.
//
// Where the sources are silent:
//   - LALEA doesn't say what orders two committed regions at recovery, whose chains belong to
//     different cores. Here the last header of a region carries its place in the order of commits,
//     and rule 5 holds over all cores. With `hw_redo.commit_order=per-core` recovery follows each
//     core's chain alone, and a log is released when its own region is in place.
//   - A flush by an instruction of the program's own, outside the region that wrote the line: it
//     waits until no log has the line that recovery might redo, so until the last region that wrote
//     it has committed and its log is released (rule 5). Within the region that wrote the line, the
//     line goes to the DRAM cache (rule 2), and is durable with the commit. So it is if a region of
//     another thread, in progress, has written the line (false sharing): to wait for that could be
//     to wait for ever.
//   - Not modelled: the presence filters of the DRAM cache, and the stall if it were full of
//     uncommitted lines.
//
// What survives a crash: the cores' registers of their last regions committed and released, the
// log's survivors (hardware_log.hpp), PM and the write pending queues. Not the DRAM cache. Recovery
// (designs/atomicity/redo_regions.hpp) writes the logs of committed regions in place.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/hardware_log.hpp"
#include "pmemsim/designs/atomicity/hw_redo_parameters.hpp"

namespace pmemsim {

struct HwRedoStatistics {
  std::uint64_t committed = 0, coalesced = 0, in_place_writes = 0, filtered_writes = 0;
  std::uint64_t kept_lines = 0, kept_evictions = 0, dram_cache_reads = 0, dram_cache_writes = 0;
  Picoseconds commit_latency{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("committed", committed, "regions", "Regions committed", share_of("core.regions"));
    visit("commit_latency_ns", commit_latency, "From regions' ends to their commits, in sum",
          part_of("core.time_ns"));
    visit("coalesced", coalesced, "stores", "Stores to lines that stood in the log buffer");
    visit.quantity("kept_lines", kept_lines);
    visit("in_place_writes", in_place_writes, "lines", "Lines written in place after the commit",
          share_of("kept_lines"), origin_of("received.data_writes"));
    visit("filtered_writes", filtered_writes, "lines",
          "Lines that needn't be, since a later region had committed them again",
          share_of("kept_lines"));
    visit.quantity("dram_cache_writes", dram_cache_writes, origin_of("dram.writes"));
    visit("kept_evictions", kept_evictions, "lines",
          "Lines that went from the caches to the DRAM cache", part_of("dram_cache_writes"),
          part_of("shared.evictions_taken"));
    visit("dram_cache_reads", dram_cache_reads, "lines", "Lines read from the DRAM cache",
          part_of("shared.pm_reads"), origin_of("dram.reads"));
  }
};

class HwRedo final : public Atomicity {
 public:
  HwRedo(const HardwareLog::Shape& shape, const HwRedoParameters& parameters,
         const HardwareLogParameters& log);
  static Storage storage(const HwRedoParameters& parameters, const HardwareLogParameters& log,
                         const Chip& chip);
  void connect(const LayerContext& context) override;

  Lowering lowering() const override;
  std::uint32_t interests() const override {
    return kStores | kRegions | kEvictions | kFetches | kFlushes;
  }
  bool commits_synchronously() const override { return true; }

  bool region_begin(CoreId core, std::uint64_t region, Time when, Completion) override;
  bool region_end(CoreId core, std::uint64_t region, Time when, Completion resume) override;
  bool store(const Store& store, Time when, Completion) override;
  bool flush(CoreId core, Line line, Time when, Completion resume) override;
  Eviction flushed(Line line) override;
  Eviction evicted(Line line, const LineData& data, Time when) override;
  bool may_leave(Line line) const override {
    return faults_.order || (!uncommitted_.contains(line) && !cached_.contains(line));
  }
  bool fetch(CoreId core, Line line, Time when, Completion done) override;
  void drain() override;

  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

  // What a crash leaves, beside PM and the write pending queues.
  struct Survivors {
    std::vector<std::uint64_t> committed;  // by core: the last region that has
    std::vector<std::uint64_t> in_place;   // by core: the last region whose log is released
    CommitOrder order;
    LogSurvivors log;
  };
  Survivors survivors() const;

 private:
  struct BufferedLine {
    Line line;
    LineData data;
  };
  struct PerCore {
    std::uint64_t region = 0;     // the latest one
    std::uint64_t committed = 0;  // register: the last region that has committed
    std::uint64_t in_place = 0;   // register: the last region whose log is released
    std::uint64_t order = 0;      // of the region that is waiting to commit
    std::optional<HardwareLog::Id> log;
    std::vector<BufferedLine> log_buffer;  // oldest first
    LineTable<bool> written;               // the region's write set
    std::vector<Line> lines;               // the same
    std::size_t on_their_way = 0;          // lines to the DRAM cache that the commit waits for
    Time waiting_since{};
    Completion waiting;  // the region's end
  };
  // A region whose log may have to be redone, from its end until it is released.
  struct Region {
    CoreId core;
    std::uint64_t number;
    HardwareLog::Id log;
    std::vector<Line> lines;
    std::uint32_t not_in_place = 0;
    bool committed = false;
    bool released = false;
  };
  // A line that uncommitted regions have written.
  struct Uncommitted {
    std::uint32_t writers = 0;
    bool kept = false;  // in the DRAM cache
  };
  // A line in the DRAM cache that PM hasn't got yet.
  struct Cached {
    LineData data{};
    std::uint64_t order = 0;  // the region that committed it last
    bool dirty = false;       // has still to be written in place
    bool on_its_way = false;
    std::uint64_t order_on_its_way = 0;
  };
  struct WaitingFlush {
    CoreId core;
    Line line;
    Completion resume;
  };

  void log(CoreId core, const BufferedLine& line);
  void idle(std::uint64_t core, Time now);
  void lines_arrive(std::uint64_t core, Time now);
  void line_accepted(std::uint64_t core, Time now);
  void commit(std::uint64_t core, Time now);
  void committed_lines_arrive(std::uint64_t order, Time now);
  Region& region(std::uint64_t order) { return regions_[order - first_order_]; }
  void keep(Line line, const LineData& data, std::uint64_t order);
  void write_to_dram_cache(Line line, Completion arrived);
  void write_in_place(Line line);
  void write_oldest(std::uint64_t up_to);
  void written_in_place(std::uint64_t line, Time now);
  void release(Time now);
  void release(Region& region);
  bool may_flush(CoreId core, Line line) const;
  void write_for(const WaitingFlush& flush);
  void resume_flushes(Time now);

  const HwRedoParameters parameters_;
  std::optional<LayerContext> context_;
  const LogFaults faults_;
  HardwareLog log_;
  std::vector<PerCore> cores_;
  LineMap<Uncommitted> uncommitted_;
  LineMap<Cached> cached_;
  std::deque<Region> regions_;  // in the order of commits, from first_order_ on
  std::uint64_t first_order_ = 1;
  std::uint64_t written_up_to_ = 0;  // lazy: whose lines are in place, or on their way there
  LineMap<std::uint64_t> logged_;    // the last region that committed the line, until released
  std::vector<WaitingFlush> flushes_;
  HwRedoStatistics statistics_;
};

}  // namespace pmemsim
