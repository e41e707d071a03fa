// Layer 3, backend: the work that the controller does on a write before the write is accepted.
//
// Every write to PM, from any sender, and every read from PM passes through the backend to the
// controller's queues (machine/memory/memory.hpp). The backend is a list of operations
// (designs/backend/operation.hpp). A write is sent to the queues when all operations are done with
// it; a read is answered when they are. Without operations, everything is forwarded at once.
//
//   1  A write that is held in the backend hasn't been accepted: a crash loses it. In every other
//      respect it behaves as if it were in its queue. It can be found, dropped and counted. A read
//      of its line is answered from the held writes if these have all bytes of the line.
//   2  The writes of a line are sent in the order of their arrival, each when the one before has
//      been accepted.
//      A write that arrives while operations still work on the one before coalesces with it, as
//      writes merge in a queue. The two have one identity, kind and owner, and are accepted or
//      dropped together. [Open: neither paper says what becomes of such a write.]
//   3  A write goes to the queues as the operations encode it at that time. It may go to another
//      place, together with metadata that are accepted in the same step. Until there are free
//      entries for all of it, it waits behind the other writes that do.
//   4  A write of some bytes of its line is treated as if it had the other bytes, too. Operations
//      see the line's newest contents in their place. A whole line is sent to the queues. It is
//      completed when it is encoded, with the line's contents at that time, which is right because
//      of rule 2. A write whose bytes a later write has taken into its own line can't be dropped
//      any more.
//   5  Operations may start before a write arrives, on predicted data (result_buffer.hpp). An
//      arriving write takes over the results that match it, and keeps them until it is sent or
//      dropped. A write of some bytes loses the results that depend on data if the rest of its line
//      turns out to be different. A write that uses results that depend on data is encoded with the
//      data that these were computed from.
//   6  Data that have left the caches are in flight for a time that depends on their path. If data
//      of the line that left later have arrived first, the write that left earlier carries the
//      line's newest contents instead. These may be contents of a region that has committed
//      meanwhile.
//   7  A line belongs to a channel and a bank by its address (channel_of(), bank_of()), whatever
//      place the operations choose. An entry reserved for it there is released if the write goes to
//      another channel, or to none.
//   8  A write whose data are in PM already sends only metadata to the queues. Neither this write
//      nor an older one of its line can be dropped any more: the place of the line's former data
//      may be reused. A write that is older than one that has been written can't be dropped either.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/designs/backend/metadata_port.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/passing_reads.hpp"
#include "pmemsim/designs/backend/received_statistics.hpp"
#include "pmemsim/designs/backend/result_buffer.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class Backend final : public MetadataPort {
 public:
  // `forward_latency`: the time until a read is answered by a write that is held.
  Backend(EventQueue& queue, Memory& pm, BackendParts parts, Picoseconds forward_latency,
          const BackendFaults& faults = {});
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  ~Backend() override;

  void read(Line line, Completion done);
  WriteId write(const Write& write);
  // Returns the next value of Write::departure, for data that leave the caches.
  std::uint64_t next_departure() { return ++departures_; }

  // Functions of Memory, which here include writes that are held.
  bool drop(WriteId id);
  bool find(Line line, WriteKind kind, WriteId& id) const;
  const Write* pending(WriteId id) const;
  LineData newest(Line line) const;
  std::span<const std::uint32_t> pending_operations() const;
  bool reserve(std::uint32_t channel) { return pm_.reserve(channel); }
  bool can_reserve(std::uint32_t channel, std::uint32_t entries) const {
    return pm_.can_reserve(channel, entries);
  }
  void release(std::uint32_t channel) { pm_.release(channel); }
  void await_entry(std::uint32_t channel, Completion free) { pm_.await_entry(channel, free); }
  WriteId write_reserved(const Write& write);
  std::uint32_t channel_of(Line line) const { return pm_.channel_of(line); }
  std::uint32_t bank_of(Line line) const { return pm_.bank_of(line); }
  LineData surviving(Line line) const;
  void survivors_changed() override { pm_.survivors_changed(); }
  void persisted_in_caches(Line line, const LineData& data) { pm_.persisted_in_caches(line, data); }

  // Returns the result buffer, for the layer that predicts writes.
  ResultBuffer& predictions() { return results_; }
  const BackendParts& parts() const { return parts_; }

  // Functions that metadata_port.hpp declares.
  void read_metadata(Line line, Completion done) override {
    ++received_.metadata_reads;
    pm_.read(line, done);
  }
  void write_metadata(Line line, const LineData& data, Completion persisted) override;
  void write_back_entries(Line line, Completion persisting) override;
  void metadata_changed(Line line) override;
  LineData decode_before(const BackendOperation& operation, Line line,
                         LineData data) const override {
    return parts_.decode(line, data, &operation);
  }

  const BackendFaults& faults() const override { return faults_; }
  void observe(WriteObserver* observer) const;
  void statistics(StatisticsCollector& collector) const;
  // Describes which writes wait for what; empty if none is held.
  std::string pending() const;

 private:
  enum class State : std::uint8_t {
    kHeld,           // waits for an operation, or for an older write of its line
    kAwaitsEntries,  // waits for queue entries for itself and its metadata
    kSent,           // sent to the queues, but not accepted
    kAccepted,       // accepted, but not written yet
  };
  // Completions of a newer write that has coalesced with this one.
  struct CoalescedWrite {
    Completion persisting, written;
  };
  // A write, from its arrival until it has been written.
  struct Passing {
    Write write;
    std::uint64_t order = 0;       // order of arrival; 0: none
    std::uint64_t unfinished = 0;  // gates that aren't done: a bit each
    std::uint32_t older = kNoSlot;
    State state = State::kHeld;
    bool reserved = false;
    bool completed = false;    // the write had only some bytes of its line
    bool overwritten = false;  // a newer write of its line, perhaps elsewhere, has been written
    Prepared prepared{};       // prepared results that it may use
    WriteId in_queue;
    Encoded encoded;  // valid once it is sent
    std::vector<CoalescedWrite> coalesced{};
    // Slot of the completions of all coalesced writes, if there are any.
    std::uint32_t acknowledgements = kNoSlot;

    bool is_held() const { return state <= State::kAwaitsEntries; }
  };
  // A write and its metadata, or a line of entries by itself, that waits for free queue entries.
  struct Waiting {
    WriteId write;
    Line entries{};
    bool is_entries = false;
    Completion persisting{};
  };

  void count(const Write& write, bool sent);
  WriteId take(const Write& write, bool reserved);
  std::uint32_t coalescing_target(const Write& write) const;
  void coalesce(std::uint32_t slot, const Write& newer);
  void acknowledge(std::uint64_t slot, Time now);
  void forget_acknowledgements(const Passing& passing);
  bool overtaken(const Write& write);
  void gate_done(std::uint64_t slot_and_gate, Time now);
  void send_next(Line line);
  void send_next_later(std::uint64_t line, Time now);
  void send(std::uint32_t slot);
  Encoded encode(Passing& passing) const;
  Write as_sent(std::uint32_t slot);
  void complete_by_metadata(std::uint32_t slot, Write& metadata);
  void mark_sent(Passing& passing, Encoded encoded);
  void discard_prepared(Passing& passing);
  void send_with_metadata(std::uint64_t, Time now);
  void write_after_step(std::uint64_t, Time now);
  bool send_waiting(const Waiting& waiting);
  bool send_together(std::uint32_t slot);
  bool send_entries(const Waiting& waiting);
  void accepted(std::uint64_t slot, Time now);
  void written(std::uint64_t slot, Time now);
  void remove_held(const Passing& passing);
  void dropped_from_queue(Line line, WriteId in_queue);
  void forget(std::uint32_t slot);
  LineData accepted_newest(Line line) const;
  bool holds_whole(Line line) const;
  bool needed_by_newer(const Passing& passing) const;
  bool droppable(const Passing& passing) const;
  std::uint32_t slot_of(WriteId id) const;
  WriteId id_of(std::uint32_t slot) const;

  EventQueue& queue_;
  Memory& pm_;
  const BackendParts parts_;
  std::vector<WriteGate*> gates_;
  const Picoseconds forward_latency_;
  bool keeps_outdated_ = false;  // some gate replaces results that are outdated
  const BackendFaults faults_;
  ResultBuffer results_;
  Slab<Passing> writes_;
  Slab<std::vector<Completion>> acknowledgements_;
  LineTable<std::uint32_t> newest_;  // newest write of each line
  std::deque<Waiting> awaiting_entries_;
  bool within_step_ = false;       // operations are being notified of an accepted or written write
  std::vector<Write> after_step_;  // metadata writes to send after that step
  PassingReads reads_;
  std::uint64_t order_ = 0;
  std::uint64_t departures_ = 0;
  LineTable<std::uint64_t>
      latest_departure_;  // greatest Write::departure that has arrived, of each line
  ReceivedStatistics received_;
  std::uint64_t held_ = 0;
  std::vector<std::uint32_t> held_by_bank_;
  mutable std::vector<std::uint32_t> all_by_bank_;  // result of pending_operations()
};

}  // namespace pmemsim
