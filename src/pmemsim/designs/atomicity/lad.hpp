// LAD: logless atomic durability (Gupta, Daglis, Falsafi, MICRO 2019). A region's lines stay in the
// persistent queues of the memory controllers until it has committed, in two phases. Lines
// that don't fit there are logged.
//
//   1  A region's store marks its line.
//   2  Region end, phase 1: the marked lines are sent to their controllers as speculative writes. A
//      marked line that is evicted before the region's end is sent to its controller then, and
//      loses its mark.
//   3  A controller keeps a speculative line in an entry of its write pending queue, and
//      acknowledges the write. The entry may not drain. A later write of the region to the line
//      replaces the entry's contents. The entry answers reads of the line.
//   4  Overflow: if no entry is free, the region falls back to an undo log, for all of its lines
//      that the controller already keeps or receives later (LALEA, III-B: "an overflow forces LAD
//      to write log blocks for all update requests in a transaction"). The controller reads a
//      line's old data, and writes them to the log. When this log entry is persistent, the
//      controller writes the line in place and acknowledges. Until then, a kept line occupies its
//      queue entry. The region's later writes to a logged line are written in place at once.
//   5  Phase 2: once all writes are acknowledged, a commit message is sent to every controller.
//      Each controller records the region in its array as the core's last committed region, lets
//      the region's lines drain, and acknowledges. The core stalls until all have acknowledged, and
//      then frees the region's log.
//   6  A region has committed if at least one controller's array records it.
//   7  The program's own flush of an unfinished region's line writes the line in place. It
//      therefore stalls until the line is logged as in rule 4. The core sends the controller a
//      request to log the line. All data that left the core earlier arrive before this request.
//
// If two regions write the same line at the same time, each has an entry for it. This occurs
// without isolation, or if their data share a line. Older data never overwrite newer data that are
// committed or written in place; the order is that in which data leave the caches. In such a
// program, a crash may leave a line with words of both regions.
//
// With a backend, the controllers keep lines in front of the backend's operations. The operations
// process a line when the commit lets it drain, or when it is logged or written in place. Until
// then, the controller's entry contains the line as the program wrote it. Reads return this form,
// and a crash leaves it.
//
// These survive a crash: the controllers' arrays, the lines that controllers keep, PM, and the
// write pending queues. Recovery is in designs/atomicity/lad_recovery.hpp.
//
// Not modelled:
//   - the latency of a speculative line on a link to a device with the queues;
//   - the restriction of a controller's log to its own channels;
//   - the write-through of a marked line that another core requests.
// Each channel models one controller.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/hardware_log.hpp"

namespace pmemsim {

struct LadStatistics {
  std::uint64_t committed = 0, speculative = 0, written_through = 0, forwarded = 0;
  std::uint64_t data_writes = 0, overflows = 0, delayed_flushes = 0;
  Picoseconds commit_latency{}, log_completion{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("committed", committed, "regions", "Committed regions", share_of("core.regions"));
    visit("commit_latency_ns", commit_latency, "Total stall time at the ends of regions",
          part_of("core.time_ns"));
    visit("log_completion_ns", log_completion,
          "Total time from regions' ends to the persistence of their logs, or to their commits if "
          "they log nothing",
          part_of("commit_latency_ns"));
    visit("speculative", speculative, "lines", "Speculative writes");
    visit("written_through", written_through, "lines",
          "Speculative writes of lines evicted before the region's end", part_of("speculative"));
    visit.quantity("data_writes", data_writes, origin_of("received.data_writes"));
    visit("forwarded", forwarded, "requests",
          "Reads served with a line in a controller's write pending queue",
          part_of("shared.pm_reads"));
    visit("overflows", overflows, "regions",
          "Regions with a line for which a controller's write pending queue had no free entry",
          part_of("committed"));
    visit("delayed_flushes", delayed_flushes, "flushes", "Flushes that stalled for a log entry",
          part_of("core.flushes", "core.stores"));
  }
};

class Lad final : public Atomicity {
 public:
  // `controller_latency`: the time that a controller takes to acknowledge.
  Lad(const HardwareLog::Shape& shape, Picoseconds controller_latency,
      const HardwareLogParameters& parameters);
  static Storage storage(const HardwareLogParameters& parameters, const Chip& chip);
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
  Eviction evicted(Line line, const LineData& data, Time when) override;
  bool may_leave(Line line) const override;
  bool fetch(CoreId core, Line line, Time when, Completion done) override;

  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

  // The state that survives a crash, besides PM and the write pending queues.
  struct Survivors {
    struct Kept {
      CoreId core;
      std::uint64_t region;
      Line line;
      LineData data;
    };
    std::vector<std::vector<std::uint64_t>> committed;  // by controller and core
    std::vector<Kept> kept;                             // in the order of leaving the caches
    LogSurvivors log;
  };
  Survivors survivors() const;

 private:
  // The state of a region's line after its arrival at the controller.
  enum class State : std::uint8_t {
    kKept,      // in a queue entry that may not drain
    kLogging,   // its log entry is in flight
    kInPlace,   // written in place after it was logged, or drained after the commit
    kDraining,  // committed, and in flight to the write pending queue
  };
  // A line of a region at its controller.
  struct Held {
    CoreId core = 0;
    Line line;
    State state = State::kKept;
    std::uint32_t controller = 0;
    std::uint64_t departure = 0;  // when the data left the caches (Write::departure)
    bool has_entry = false;       // true if the line occupies an entry of the write pending queue
    LineData data{};
    std::uint32_t unacknowledged = 0;  // number of writes that the log delays
    Completion flush;                  // resumes a flush that the log delays
  };
  struct PerCore {
    std::uint64_t region = 0;  // the region in progress; 0: none
    LineTable<bool> marks;     // by line that the region has stored to: true if marked (rule 1)
    std::vector<Line> lines;   // the lines in `marks`, in the order of their first store
    Line latest;               // line of the latest store, which may not be visible yet
    LineTable<std::uint32_t> held;          // by line: slot in held_
    std::vector<std::uint32_t> held_lines;  // all slots in held_
    std::vector<bool> overflowed;           // by controller: true if the region logs there (rule 4)
    std::optional<HardwareLog::Id> log;
    // Number of lines that have no log entry yet: their old data are being read, or their entry
    // waits for room for a header.
    std::uint32_t about_to_log = 0;
    // In phase 1: number of unacknowledged speculative writes. In phase 2: number of unacknowledged
    // commit messages and of lines that have yet to drain.
    std::uint32_t unacknowledged = 0;
    Time ended{};        // when the region's end reached the store queue's head
    Time logged{};       // when the core can know that its latest log entry is persistent
    Completion waiting;  // resumes the region's end
    // The flush for which the core stalls while its request is in flight (rule 7).
    Completion flush;  // resumes the flush
    Line flushed;
  };
  // A speculative write in flight to its controller.
  struct Sent {
    CoreId core;
    Line line;
    LineData data;
    std::uint64_t departure;
  };

  // Phase 1.
  void send(CoreId core, Line line, const LineData& data);
  void arrive(std::uint64_t sent, Time now);
  std::uint32_t hold(CoreId core, Line line);
  void keep_or_log(std::uint32_t held);
  Held* find(CoreId core, Line line);
  void write_in_place(Held& held, std::uint32_t acknowledgements);
  void in_place(std::uint64_t packed, Time now);
  void acknowledged(std::uint64_t packed, Time now);
  void acknowledge(CoreId core, std::uint32_t count, Time when);
  void replace_older(Line line, std::uint64_t departure, const LineData& data);
  // Phase 2.
  void send_commit(CoreId core, Time now);
  void commit_arrives(std::uint64_t packed, Time now);
  void drained(std::uint64_t held, Time now);
  void commit_acknowledged(std::uint64_t core, Time now);
  void count_latencies(const PerCore& core, Time now);
  void finish(PerCore& core);
  // The log.
  void overflow(CoreId core, std::uint32_t controller);
  void log_kept(std::uint32_t held);
  void log(std::uint32_t held);
  void old_data_read(std::uint64_t held, Time now);
  bool append(std::uint32_t held);
  void header_space_freed(std::uint64_t, Time now);
  void logged(std::uint64_t held, Time now);
  void flush_arrives(std::uint64_t core, Time now);
  void resume_flush(Completion flush, Time now);

  std::optional<LayerContext> context_;
  const Picoseconds controller_latency_;
  const LogFaults faults_;
  HardwareLog log_;
  std::deque<std::uint32_t>
      awaiting_header_space_;  // slots of lines whose log entry waits for room for a header
  std::vector<PerCore> cores_;
  std::vector<std::vector<std::uint64_t>> committed_;  // by controller and core
  Slab<Held> held_;
  std::deque<Sent> in_flight_;
  LadStatistics statistics_;
};

}  // namespace pmemsim
