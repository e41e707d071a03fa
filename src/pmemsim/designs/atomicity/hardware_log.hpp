// The log that hardware writes: what undo and redo logs have in common. A design opens a log for a
// region, appends lines to it, and releases it when it isn't needed any more; where entries and
// headers go, and when headers are written, is the business of two policies.
//
//   1  Seven entries share a header (log entry collation, LEC).
//   2  allocation: a record's lines stand where a LogSpace says: one record after the other
//      (sequential_log.hpp), or each line in the bank with the fewest pending operations (LALEA,
//      load_aware_log.hpp), found by a chain of headers.
//   3  metadata: a header waits where a HeaderBuffer has room for it: in a persistent queue of the
//      channel until its record is complete (header_queue.hpp), or in the ADR buffer until the log
//      is released (BLOM, adr_buffer.hpp).
//   4  A header without room is volatile until it is written, which it is when its entries are
//      persistent; in an undo log that has to wait for room, there is none such. What an undo log
//      has an entry for may change only when that header is persistent, too, and all headers that a
//      chain has to find it by.
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
  std::uint64_t most_under_way = 0;  // entries
  Picoseconds entry_latency{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("entries", entries, "lines", "Log entries written", origin_of("received.log_writes"));
    visit("persistent_entries", persistent_entries, "lines", "Log entries that became persistent",
          part_of("entries"));
    visit("entry_latency_ns", entry_latency,
          "From an entry's leaving the core to its being persistent, in sum",
          at_most("run.drained_ns", most_under_way));
    visit("headers", headers, "lines", "Lines of headers written to PM",
          origin_of("received.log_header_writes"), at_most("entries", 2));
    visit("buffered_headers", buffered_headers, "headers",
          "Headers that stood in a persistent queue or buffer", at_most("entries"));
    visit("spilled_headers", spilled_headers, "headers",
          "Of these, written to PM to make room for others (BLOM)", part_of("buffered_headers"));
    visit("dropped", dropped, "lines", "Log writes removed from the write pending queues",
          part_of("entries", "headers"), origin_of("received.dropped"));
    visit("growths", growths, "times", "Times that the log space had to grow");
  }
};

// What kind of log a design keeps.
enum class LogKind : std::uint8_t {
  kUndo,  // an entry must be undone if a crash comes right after it: headers persist before entries
  kRedo,  // entries count when the region commits: headers may persist after them
};

class HardwareLog {
 public:
  struct Shape {
    LogKind kind;
    std::uint32_t cores, channels, banks;
    std::uint32_t rings;            // sequential: one for each core, or one for all
    std::uint32_t header_entries;   // of a channel's persistent header queue
    bool from_controllers = false;  // entries come from there, not from the cores
  };
  HardwareLog(const Shape& shape, const HardwareLogParameters& parameters);
  // What a log that hardware writes takes, by its allocation and metadata.
  static Storage storage(const HardwareLogParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context);
  // Whom to tell when there is room for headers again.
  void on_room(Completion room) { room_ = room; }

  using Id = std::uint32_t;
  // A region's log. `idle` is called at the core whenever nothing of it is outstanding any more.
  Id open(CoreId core, std::uint64_t region, Completion idle);
  // Undo logs: an append must wait for on_room() otherwise.
  bool room(Id id);
  // The entry leaves the core now. `persisted` is called at the controller, `acknowledged` at the
  // core; in an undo log with volatile headers not before the entry's header persists.
  void append(Id id, Line home, const LineData& data, Completion acknowledged,
              Completion persisted = {});
  // No more entries: the last header may be written. Regions are redone in `commit_order`.
  void close(Id id, std::uint64_t commit_order);
  // Undo logs with volatile headers: no further entry is about to come, so that the last header
  // shouldn't wait for one.
  void seal(Id id);
  // Entries, and headers that have to persist before the region commits, without acknowledgement.
  std::uint32_t outstanding(Id id) const { return logs_[id].outstanding; }
  // Removes the entries that wait in the write pending queues.
  void drop_entries(Id id);
  // Redo logs: the region has committed.
  void link(Id id);
  // The log isn't needed any more; nothing of it may be outstanding.
  void release(Id id, bool drop_pending);

  bool nearly_full() const;
  LogSurvivors survivors() const;
  const LogSpace& space() const { return *space_; }
  void statistics(StatisticsCollector& collector) const;

 private:
  enum class HeaderState : std::uint8_t { kVolatile, kBuffered, kOnItsWay, kWritten };
  struct Record {
    std::optional<HeaderPlace> place;
    LogHeader header;
    LogLinks links;
    std::uint32_t entries = 0;
    HeaderState state = HeaderState::kVolatile;
    bool buffered = false;               // it takes room in the header buffer
    bool counted = false;                // the commit waits for its header
    bool kept = false;                   // complete, but stays in the header buffer
    std::uint32_t lines_left = 0;        // of a header on its way
    std::vector<std::uint32_t> waiting;  // persistent entries that count when the header does
  };
  struct Log {
    CoreId core = 0;
    std::uint64_t region = 0;
    std::vector<Record> records;
    std::uint32_t outstanding = 0;
    std::uint32_t headers_on_their_way = 0;
    std::vector<std::uint32_t> unlinked;  // records of these, in the order of their places
    bool closed = false;
    bool released = false;  // but headers may be on their way
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

  // Rule 4.
  bool may_be_volatile() const { return shape_.kind == LogKind::kRedo || !buffer_->makes_wait(); }
  bool waits_for_header(const Record& record) const {
    return shape_.kind == LogKind::kUndo && record.state == HeaderState::kVolatile;
  }
  bool buffer_header(Id id, std::uint32_t record);
  void give_back(HeaderId header);
  void start_record(Id id);
  void place_header(Record& record, HeaderPlace place);
  void arrive(std::uint64_t slot, Time now);
  void entry_persisted(std::uint64_t slot, Time now);
  void entry_acknowledged(std::uint64_t slot, Time now);
  bool complete(const Log& log, std::uint32_t record) const;
  void try_complete(Id id, std::uint32_t record);
  void write_header(Id id, std::uint32_t record);
  void header_persisted(std::uint64_t slot, Time now);
  void tell_waiting(Log& log, Time now);
  void closing_arrived(std::uint64_t id, Time now);
  void acknowledged(std::uint64_t id, Time now);
  void announce_room();
  void make_room(std::uint32_t channel);
  void room_free(std::uint64_t, Time now);
  void spill(std::uint32_t channel);
  void finish_release(Id id);
  void drop(Line line, WriteKind kind);

  const Shape shape_;
  const HardwareLogParameters parameters_;
  const std::uint32_t header_lines_;  // of a record
  std::optional<LayerContext> context_;
  Completion room_;
  bool room_wanted_ = false;
  std::unique_ptr<LogSpace> space_;
  std::unique_ptr<HeaderBuffer> buffer_;
  std::uint64_t records_in_use_ = 0;
  Slab<Log> logs_;
  Slab<Entry> entries_;
  Slab<HeaderId> headers_;  // lines of headers on their way
  HardwareLogStatistics statistics_;
};

// Structures of several designs.
Structure header_queue(std::string_view name, std::uint32_t entries, const Chip& chip,
                       std::string_view source);
Structure committed_register(const Chip& chip);

}  // namespace pmemsim
