// Hardware redo log with synchronous commit, after ReDU (Jeong et al., MICRO 2018): the baseline
// "HWRedo" of ASAP (section 6.3) and "REDU" of LALEA (section IV).
//
//   1  Stores of a region go to the core's log buffer, which coalesces the stores to a line. A full
//      buffer sends its oldest line to the log. The core doesn't stall.
//   2  A line that an uncommitted region has written isn't written to PM. If the caches evict the
//      line, or the program itself flushes it, it goes to the DRAM cache, which answers its reads.
//   3  At a region's end the log buffer is emptied and the last header closed; the region commits
//      when all of its log is persistent. The core stalls until then, and for nothing else. With
//      hw_redo.commit_after=dram-cache, the lines then go to the DRAM cache, and the region commits
//      when the core is notified of their arrival.
//   4  After the commit, the region's lines go to the DRAM cache, and then to their home addresses
//      in PM, without the core. With `eager`, they are written in place at once. With `lazy`, they
//      are written in place when the log or the DRAM cache is almost full, oldest regions first. A
//      line that a later region has committed since is then written once.
//   5  A log is released when its region's lines are in place, and so are those of all regions that
//      committed before it. Otherwise redoing an older region could undo a newer one.
//   6  With log.metadata=queue-buffered, headers of logs that aren't released stay in the channels'
//      header queues (header_queue.hpp), as ASAP's baselines "use on-chip persistence resources of
//      similar size to ASAP's LH-WPQ to store their logging metadata" (6.3). LALEA's conventional
//      log writes each header when its entries are persistent (III-B).
//
// Decisions of this model where the sources are silent:
//   - LALEA doesn't say in which order recovery redoes two committed regions of different cores,
//     which are in different chains. Here the last header of a region contains its position in the
//     order of commits, and rule 5 holds over all cores. With `hw_redo.commit_order=per-core`
//     recovery follows each core's chain alone, and a log is released when its own region and all
//     older ones of its core are in place.
//   - The program's own flush, outside the region that wrote the line, stalls until no log that
//     recovery might redo contains the line. The last region that wrote the line has then
//     committed, and its log is released (rule 5). Within the region that wrote the line, a flush
//     sends the line to the DRAM cache (rule 2); the line is durable with the commit. The same
//     happens if another thread's region in progress has written the line (false sharing): a stall
//     for that region could last for ever.
//   - Not modelled: the presence filters of the DRAM cache, and the stall if it were full of
//     uncommitted lines.
//
// These survive a crash: the cores' registers of their last regions committed and released, the
// log's survivors (hardware_log.hpp), PM and the write pending queues. The DRAM cache doesn't
// survive. Recovery (designs/atomicity/redo_regions.hpp) writes the logs of committed regions in
// place.
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
    visit("committed", committed, "regions", "Committed regions", share_of("core.regions"));
    visit("commit_latency_ns", commit_latency, "Total time from regions' ends to their commits",
          part_of("core.time_ns"));
    visit("coalesced", coalesced, "stores", "Stores to lines that were already in the log buffer");
    visit.quantity("kept_lines", kept_lines);
    visit("in_place_writes", in_place_writes, "lines",
          "Lines written in place after their region's commit", share_of("kept_lines"),
          origin_of("received.data_writes"));
    visit("filtered_writes", filtered_writes, "lines",
          "In-place writes saved because a later region had committed the line again",
          share_of("kept_lines"));
    visit.quantity("dram_cache_writes", dram_cache_writes, origin_of("dram.writes"));
    visit("kept_evictions", kept_evictions, "lines",
          "Lines evicted from the caches to the DRAM cache", part_of("dram_cache_writes"),
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

  // The state that survives a crash, besides PM and the write pending queues.
  struct Survivors {
    std::vector<std::uint64_t> committed;  // by core: the last region that has committed
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
    std::uint64_t region = 0;     // the latest region
    std::uint64_t committed = 0;  // register: the last region that has committed
    std::uint64_t in_place = 0;   // register: the last region whose log is released
    std::uint64_t order = 0;      // position of the committing region in the order of commits
    std::optional<HardwareLog::Id> log;
    std::vector<BufferedLine> log_buffer;  // oldest first
    LineTable<bool> written;               // the region's write set, for look-ups
    std::vector<Line> lines;               // the region's write set, in order
    // Number of lines that the commit waits for, in flight to the DRAM cache.
    std::size_t lines_in_flight = 0;
    Time waiting_since{};
    Completion waiting;  // resumes the region's end
  };
  // A region whose log may have to be redone, from the region's end until the log's release.
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
    bool kept = false;  // true if it is in the DRAM cache
  };
  // A line in the DRAM cache that hasn't been written to PM yet.
  struct Cached {
    LineData data{};
    std::uint64_t order = 0;  // the last region that committed it
    bool dirty = false;       // true if it must still be written in place
    bool in_flight = false;
    std::uint64_t order_in_flight = 0;
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
  std::deque<Region> regions_;  // in the order of commits, beginning with first_order_
  std::uint64_t first_order_ = 1;
  // The last region whose lines are in place, or in flight to it (lazy).
  std::uint64_t written_up_to_ = 0;
  LineMap<std::uint64_t> logged_;  // the last region that committed the line, until released
  std::vector<WaitingFlush> flushes_;
  HwRedoStatistics statistics_;
};

}  // namespace pmemsim
