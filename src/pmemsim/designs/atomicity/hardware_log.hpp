// The log that hardware writes: the common part of undo and redo logs. A design opens a log for a
// region, appends lines to it, and releases it when it isn't needed any more. Two policies decide
// the locations of entries and headers, and when headers are written.
//
//   1  Seven entries share a header (log entry collation, LEC).
//   2  allocation: a LogSpace gives a record's lines their locations. Either one record follows the
//      other (sequential_log.hpp), or each line is in the bank with the fewest pending operations.
//      Then a chain of headers leads to it (LALEA, load_aware_log.hpp).
//   3  metadata: a HeaderBuffer with room holds a header. It is a persistent queue of the channel,
//      until the header's record is complete (header_queue.hpp), or the ADR buffer, until the log
//      is released (BLOM, adr_buffer.hpp).
//   4  A header without room is volatile until it is written, after its entries are persistent. An
//      undo log whose stores stall for room has no such header. A line with an entry in an undo log
//      may change only when the entry's header is persistent, too, and all headers through which a
//      chain finds it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/atomicity/hardware_log_parameters.hpp"
#include "pmemsim/designs/atomicity/header_buffer.hpp"
#include "pmemsim/designs/atomicity/log_record.hpp"
#include "pmemsim/designs/atomicity/log_space.hpp"
#include "pmemsim/designs/atomicity/log_survivors.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"

namespace pmemsim {

struct HardwareLogStatistics {
  std::uint64_t entries = 0, persistent_entries = 0, headers = 0, dropped = 0, growths = 0;
  std::uint64_t buffered_headers = 0, spilled_headers = 0;
  std::uint64_t most_under_way = 0;  // number of entries
  Picoseconds entry_latency{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("entries", entries, "lines", "Log entries written", origin_of("received.log_writes"));
    visit("persistent_entries", persistent_entries, "lines", "Log entries that became persistent",
          part_of("entries"));
    visit("entry_latency_ns", entry_latency,
          "Total time from log entries leaving their cores to their persistence",
          at_most("run.drained_ns", most_under_way));
    visit("headers", headers, "lines", "Lines of headers written to PM",
          origin_of("received.log_header_writes"), at_most("entries", 2));
    visit("buffered_headers", buffered_headers, "headers",
          "Headers that were in a persistent queue or buffer", at_most("entries"));
    visit("spilled_headers", spilled_headers, "headers",
          "Headers written from the ADR buffer to PM to free their entry for others (BLOM)",
          part_of("buffered_headers"));
    visit("dropped", dropped, "lines", "Log writes removed from the write pending queues",
          part_of("entries", "headers"), origin_of("received.dropped"));
    visit("growths", growths, "times", "Times that the log space had to grow");
  }
};

// The kind of log that a design keeps.
enum class LogKind : std::uint8_t {
  kUndo,  // an entry must be undone if a crash follows it directly: headers persist before entries
  kRedo,  // entries count when the region commits: headers may persist after them
};

class HardwareLog {
 public:
  struct Shape {
    LogKind kind;
    std::uint32_t cores, channels, banks;
    std::uint32_t rings;            // sequential: one ring for each core, or one for all
    std::uint32_t header_entries;   // size of a channel's persistent header queue
    bool from_controllers = false;  // true if the controllers write entries, not the cores
  };
  HardwareLog(const Shape& shape, const HardwareLogParameters& parameters);
  // Returns the on-chip storage of a log that hardware writes, for its allocation and metadata.
  static Storage storage(const HardwareLogParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context);
  // Registers the observer that is notified when there is room for headers again.
  void on_header_space(Completion freed) { header_space_freed_ = freed; }

  using Id = std::uint32_t;
  // Opens a region's log. `idle` is called at the core whenever nothing of the log is outstanding
  // any more.
  Id open(CoreId core, std::uint64_t region, Completion idle);
  // True if an append is allowed. Otherwise, in an undo log, it must stall until on_header_space().
  bool has_header_space(Id id);
  // Appends an entry that leaves the core now. `persisted` is called at the controller,
  // `acknowledged` at the core. In an undo log with volatile headers, both follow the
  // persistence of the entry's header.
  void append(Id id, Line home, const LineData& data, Completion acknowledged,
              Completion persisted = {});
  // Announces that no more entries follow: the last header may be written. Regions are redone in
  // `commit_order`.
  void close(Id id, std::uint64_t commit_order);
  // For undo logs with volatile headers: announces that no further entry follows soon, so that the
  // last header shouldn't be delayed for one.
  void seal(Id id);
  // Returns the number of unacknowledged entries, and of unacknowledged headers that have to
  // persist before the region commits.
  std::uint32_t outstanding(Id id) const { return logs_[id].outstanding; }
  // Removes the entries that are in the write pending queues.
  void drop_entries(Id id);
  // For redo logs: the region has committed.
  void link(Id id);
  // Releases a log that isn't needed any more; nothing of it may be outstanding.
  void release(Id id, bool drop_pending);

  bool nearly_full() const;
  LogSurvivors survivors() const;
  const LogSpace& space() const { return *space_; }
  void statistics(StatisticsCollector& collector) const;

 private:
  enum class HeaderState : std::uint8_t { kVolatile, kBuffered, kInFlight, kWritten };
  struct Record {
    std::optional<HeaderPlace> place;
    LogHeader header;
    LogLinks links;
    std::uint32_t entries = 0;
    HeaderState state = HeaderState::kVolatile;
    bool buffered = false;               // true if it occupies the header buffer
    bool counted = false;                // true if the commit depends on its header
    bool kept = false;                   // true if it is complete, but stays in the header buffer
    std::uint32_t lines_left = 0;        // number of lines of a header in flight
    std::vector<std::uint32_t> waiting;  // persistent entries that count when the header does
  };
  struct Log {
    CoreId core = 0;
    std::uint64_t region = 0;
    std::vector<Record> records;
    std::uint32_t outstanding = 0;
    std::uint32_t headers_on_their_way = 0;
    // Records whose headers are in flight and aren't linked yet, in the order of their locations.
    std::vector<std::uint32_t> unlinked;
    bool closed = false;
    bool released = false;  // true if released, though headers may be in flight
    Completion idle;
  };
  struct Entry {
    Id log;
    std::uint32_t record, number;
    Line home;
    LineData data;
    Time sent;
    Completion acknowledged, persisted;
  };

  std::uint32_t channel_of(const Record& record) const;

  // Implements rule 4 of the head comment.
  bool may_be_volatile() const {
    return shape_.kind == LogKind::kRedo || !buffer_->stalls_stores();
  }
  bool waits_for_header(const Record& record) const {
    return shape_.kind == LogKind::kUndo && record.state == HeaderState::kVolatile;
  }
  bool buffer_header(Id id, std::uint32_t record);
  void release_header(HeaderId header);
  void start_record(Id id);
  void place_header(Record& record, HeaderPlace place);
  void arrive(std::uint64_t slot, Time now);
  void entry_persisted(std::uint64_t slot, Time now);
  void entry_acknowledged(std::uint64_t slot, Time now);
  bool complete(const Log& log, std::uint32_t record) const;
  void try_complete(Id id, std::uint32_t record);
  void write_header(Id id, std::uint32_t record);
  void header_persisted(std::uint64_t slot, Time now);
  void notify_waiting(Log& log, Time now);
  void closing_arrived(std::uint64_t id, Time now);
  void acknowledged(std::uint64_t id, Time now);
  void announce_header_space();
  void free_header_space(std::uint32_t channel);
  void header_space_freed(std::uint64_t, Time now);
  void spill(std::uint32_t channel);
  void finish_release(Id id);
  void drop(Line line, WriteKind kind);

  const Shape shape_;
  const HardwareLogParameters parameters_;
  const std::uint32_t header_lines_;  // number of header lines of a record
  std::optional<LayerContext> context_;
  Completion header_space_freed_;
  bool header_space_wanted_ = false;
  std::unique_ptr<LogSpace> space_;
  std::unique_ptr<HeaderBuffer> buffer_;
  std::uint64_t records_in_use_ = 0;
  Slab<Log> logs_;
  Slab<Entry> entries_;
  Slab<HeaderId> headers_;  // lines of headers in flight
  HardwareLogStatistics statistics_;
};

// Structures that several designs have.
Structure header_queue(std::string_view name, std::uint32_t entries, const Chip& chip,
                       std::string_view source);
Structure committed_register(const Chip& chip);

}  // namespace pmemsim
