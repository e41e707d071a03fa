// The log that hardware writes: the common part of undo and redo logs. A design opens a log for a
// region, appends lines to it, and releases it when it isn't needed any more. Two policies decide
// the locations of entries and headers, and when headers are written.
//
//   1  Seven entries share a header (log entry collation, LEC).
//   2  A LogSpace assigns locations to a record's lines (policy `allocation`). Either records
//      follow each other (sequential_log.hpp), or each line goes to the bank with the fewest
//      pending operations, and a chain of headers leads to it (LALEA, load_aware_log.hpp).
//   3  A HeaderBuffer contains headers that aren't in PM, if it has room (policy `metadata`). It is
//      either a persistent queue of the channel, with headers of incomplete records or of logs that
//      haven't been released (header_queue.hpp), or the ADR buffer, with headers of logs that
//      haven't been released (BLOM, adr_buffer.hpp).
//   4  A header for which the buffer has no room is volatile until it is written, after its entries
//      are persistent. If stores stall for room, an undo log has no volatile headers. A line with
//      an entry in an undo log may change in PM only when three things are persistent: the entry,
//      its header, and all headers through which a chain leads to that header.
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
          at_most("run.drained_ns").times(most_under_way));
    visit("headers", headers, "lines", "Lines of headers written to PM",
          origin_of("received.log_header_writes"), at_most("entries").times(2));
    visit("buffered_headers", buffered_headers, "headers",
          "Headers that were in a persistent queue or buffer", at_most("entries"));
    visit("spilled_headers", spilled_headers, "headers",
          "Headers written from the ADR buffer or the header queue to PM to free their entry",
          part_of("buffered_headers"));
    visit("dropped", dropped, "lines", "Log writes removed from the write pending queues",
          part_of("entries", "headers"), origin_of("received.dropped"));
    visit("growths", growths, "times", "Times that the log space had to grow");
  }
};

// The kind of log that a design keeps.
enum class LogKind : std::uint8_t {
  kUndo,  // a crash may follow an entry directly, so its header persists before it
  kRedo,  // entries count only after the commit, so headers may persist after them
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
  // Registers the completion that is called when there is room for headers again.
  void on_header_space(Completion freed) { header_space_freed_ = freed; }

  using Id = std::uint32_t;
  // Opens a region's log. `idle` is called at the core whenever outstanding() becomes zero.
  Id open(CoreId core, std::uint64_t region, Completion idle);
  // True if an append is allowed. Otherwise, in an undo log, it must stall until on_header_space().
  bool has_header_space(Id id);
  // Appends an entry that leaves the core now. `persisted` is called at the controller,
  // `acknowledged` at the core. In an undo log with volatile headers, both follow the
  // persistence of the entry's header.
  void append(Id id, Line home, const LineData& data, Completion acknowledged,
              Completion persisted = {});
  // Announces that no more entries follow, so that the last header may be written. `commit_order`:
  // the region's position in the order in which recovery redoes regions.
  void close(Id id, std::uint64_t commit_order);
  // For undo logs with volatile headers: announces that no further entry follows soon, so that the
  // last header is written without waiting for one.
  void seal(Id id);
  // Returns the number of unacknowledged entries, and of unacknowledged headers that have to
  // persist before the region commits.
  std::uint32_t outstanding(Id id) const { return logs_[id].outstanding; }
  // Removes the entries that are in the write pending queues.
  void drop_entries(Id id);
  // For redo logs, when the region commits: makes the headers that the core has appended so far
  // part of the chain that recovery reads (LogSpace::link_last).
  void link(Id id);
  // Releases a log that isn't needed any more. outstanding() must be zero. `drop_pending`: log
  // writes in the write pending queues are dropped.
  void release(Id id, bool drop_pending);

  bool nearly_full() const;
  LogSurvivors survivors() const;
  const LogSpace& space() const { return *space_; }
  void statistics(StatisticsCollector& collector) const;

 private:
  enum class HeaderState : std::uint8_t {
    kVolatile,  // a crash loses the header
    kBuffered,  // in the persistent header buffer only
    kInFlight,  // sent to PM; if it was buffered, it also stays in the buffer until it is written
    kWritten,   // persistent in PM
  };
  struct Record {
    std::optional<HeaderPlace> place;
    LogHeader header;
    LogLinks links;
    std::uint32_t entries = 0;
    HeaderState state = HeaderState::kVolatile;
    bool buffered = false;         // true while its header has room in the buffer
    bool counted = false;          // true if the commit waits for its header
    bool kept = false;             // true if it is complete, but stays in the header buffer
    std::uint32_t lines_left = 0;  // number of lines of a header in flight
    std::vector<std::uint32_t>
        waiting;  // persistent entries that are acknowledged when the header is persistent
  };
  struct Log {
    CoreId core = 0;
    std::uint64_t region = 0;
    std::vector<Record> records;
    std::uint32_t outstanding = 0;
    std::uint32_t headers_in_flight = 0;
    // Records with entries that wait for their headers, in the order in which the headers were
    // sent. The chain doesn't include these headers yet.
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

// On-chip structures that several designs have.
Structure header_queue(std::string_view name, std::uint32_t entries, const Chip& chip,
                       std::string_view source);
Structure committed_register(const Chip& chip);

}  // namespace pmemsim
