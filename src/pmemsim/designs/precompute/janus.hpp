// Janus: software announces its writes early, and operations on them start before the write
// arrives.
//
//   1  A call of the interface (4.4, Table 2) is a request with an address, or data, or both, of an
//      object: PRE_ID, thread and transaction. The data are those at the time of the call. The
//      request arrives at the request queue, which all cores share. [Open: its latency; here that
//      of a write-back]
//   2  Immediate requests are decoded as soon as the decoder is free. Buffered requests wait for
//      PRE_START_BUF of their object. Buffered requests of one object with the same or adjacent
//      lines are merged (4.3.2, 4.4).
//   3  While the request queue is full, a new request displaces the oldest buffered request (4.6).
//      If no request is buffered, the new one is dropped (4.3.2).
//   4  The decoder splits a request into operations of a line each, one after the other (4.3.2).
//      [Open: the rate; here one per cycle] While the operation queue is full, new operations are
//      dropped.
//   5  An operation leaves the queue when a unit is free, and then opens an entry of the
//      intermediate result buffer. If the buffer is full, the operation is dropped (4.3.2).
//   6  The n-th line of an object's addresses and the n-th line of its data share one entry. [Open]
//      Bytes of a line that weren't announced are taken from the line's contents at that time.
//      [Open]
//   7  An entry leaves the buffer when its write arrives, or when it is too old. It is discarded
//      with its thread (4.6), with its range of addresses, or when its line's counter changes
//      (designs/backend/result_buffer.hpp). Rule 4 of designs/backend/schedule.hpp says which
//      results a write may use.
//   8  A thread that ends, or rolls back, discards its requests and operations (4.6). Swapped
//      memory isn't modelled, since recordings have no swaps.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/precompute/janus_parameters.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"

namespace pmemsim {

struct JanusStatistics {
  std::uint64_t requests = 0;
  std::uint64_t requests_dropped = 0;
  std::uint64_t requests_merged = 0;
  std::uint64_t operations = 0;
  std::uint64_t operations_dropped = 0;
  std::uint64_t results_dropped = 0;
  std::uint64_t prepared = 0;
  std::uint64_t used = 0;
  std::uint64_t used_late = 0;
  std::uint64_t used_in_part = 0;
  std::uint64_t changed = 0;
  std::uint64_t too_old = 0;
  std::uint64_t unused = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("requests", requests, "requests", "Pre-execution requests, excluding PRE_START_BUF");
    visit("requests_dropped", requests_dropped, "requests",
          "Requests dropped because the request queue was full, or displaced by others",
          part_of("requests"));
    visit("requests_merged", requests_merged, "requests",
          "Buffered requests that coalesced with an earlier request of their object",
          part_of("requests"));
    visit("operations", operations, "lines", "Lines decoded from requests");
    visit("operations_dropped", operations_dropped, "lines",
          "Decoded lines dropped because the operation queue was full", part_of("operations"));
    visit("results_dropped", results_dropped, "lines",
          "Decoded lines dropped because the intermediate result buffer was full",
          part_of("operations"));
    visit.quantity("prepared", prepared, part_of("operations"));
    visit("used", used, "lines", "Entries used by a write of their line with their data",
          share_of("prepared"));
    visit("used_late", used_late, "lines",
          "Used entries whose operations had not finished when the write arrived", part_of("used"));
    visit("used_in_part", used_in_part, "lines",
          "Entries whose line was written with other data, or whose data stayed unknown",
          share_of("prepared"));
    visit("changed", changed, "lines",
          "Entries lost because another write changed their line's counter", share_of("prepared"));
    visit("too_old", too_old, "lines", "Entries that expired before a write of their line",
          share_of("prepared"));
    visit("unused", unused, "lines", "Entries left at the end of their thread or of the run",
          share_of("prepared"));
  }
};

class Janus final : public Precompute {
 public:
  Janus(const JanusParameters& parameters, std::uint32_t cores);
  // Returns the storage of the queues and the buffer (Janus, 4.3 and 5.2.7).
  static Storage storage(const JanusParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context) override { context_.emplace(context); }
  ResultBufferSize result_buffer() const override;
  std::uint32_t interests() const override { return kHints; }
  std::uint32_t hint_instructions() const override { return parameters_.call_instructions; }
  void hint(CoreId core, const Hint& hint, Time when) override;
  void observe(HintObserver* observer) override { observer_ = observer; }
  void thread_ended(CoreId core) override;
  void outcome(const Outcome& outcome) override;
  void statistics(StatisticsCollector& collector) const override;

 private:
  // An object (PRE_ID, thread and transaction). A thread numbers its objects across all
  // transactions.
  using Object = std::uint64_t;
  static Object object_of(CoreId core, std::uint32_t number) {
    return std::uint64_t{core} << 32 | number;
  }
  static CoreId core_of(Object object) { return static_cast<CoreId>(object >> 32); }

  // A line of a request.
  struct Part {
    std::optional<Line> line{};
    LineData data{};
    ByteMask bytes = 0;  // known bytes of the data
    HintedLine from{};
  };
  struct Request {
    Object object;
    bool buffered;
    std::deque<Part> parts;
  };
  struct Operation {
    Object object;
    Part part;
  };
  // The number of address lines and data lines of an object so far, and their entries.
  struct Lines {
    struct Entry {
      PreparedId id;
      Part part;
    };
    std::size_t addresses = 0, data = 0;
    std::vector<Entry> entries;
    std::size_t open = 0;  // entries without an outcome
  };
  struct Arriving {
    Request request;
    bool starts;
  };

  std::uint64_t size(std::uint32_t entries) const;
  static std::deque<Part> parts_of(CoreId core, const Hint& hint);
  void notify_request(const Request& request, Time when) const;
  void notify_lost(const std::deque<Part>& parts, HintLoss where) const;
  void arrive(std::uint64_t, Time now);
  void enqueue(Request request);
  bool merge(const Request& request);
  void evict_oldest();
  void decode();
  void decode_one(std::uint64_t, Time now);
  void start(std::uint64_t, Time now);
  void execute(const Operation& operation);
  void notify_started(PreparedId id, const HintedLine& line, bool is_pending) const;
  void complete_bytes(Part& part) const;

  const JanusParameters parameters_;
  const std::uint32_t cores_;
  std::optional<LayerContext> context_;
  HintObserver* observer_ = nullptr;
  std::deque<Arriving> arriving_;
  std::deque<Request> requests_;
  std::deque<Operation> operations_;
  std::unordered_map<Object, Lines> lines_;
  bool decoding_ = false, waiting_ = false;
  JanusStatistics statistics_;
};

}  // namespace pmemsim
