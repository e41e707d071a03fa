// Layer 3, backend: what must the controller do to a write before it counts?
//
// Every write to PM, whoever sends it, and every read from PM passes here on its way to the
// controller's queues (machine/memory/memory.hpp). The backend is a list of operations
// (designs/backend/operation.hpp); a write goes on when all of them are done with it, and a read is
// answered when they are. Without operations, everything goes straight on.
//
//   1  A write that is held here hasn't been accepted: a crash loses it. In everything else it is
//      as if it were in its queue: it can be found, dropped and counted, and a read of its line is
//      answered from it, if what is held has all bytes of the line.
//   2  The writes of a line go on in the order in which they came, each when the one before has
//      been accepted.
//      One that comes while operations are still at work on the one before is brought by that one,
//      as writes merge in a queue: they have one identity, kind and owner, and are accepted or
//      dropped together. [Open: neither paper says what becomes of it.]
//   3  A write goes to the queues as the operations encode it then: elsewhere, perhaps, and
//      together with metadata, which are accepted in the same step. Until there is room for all of
//      it, it waits behind the others that do.
//   4  A write of some bytes of its line is as if the line's other bytes came with it: operations
//      see the line's newest contents in their place. What goes to the queues is a whole line,
//      completed when it is encoded by what the line then holds, which is right because of rule 2.
//      A write whose bytes one behind it has taken with it can't be dropped any more.
//   5  Operations may start before a write comes, on what somebody predicts (result_buffer.hpp). A
//      write that comes takes the results that fit it along, until it goes on or is dropped. If it
//      is a part whose line turns out to hold something else, those of the data are lost. Where it
//      uses those of the data, what is encoded are the data that they were worked out with.
//   6  Data that have left the caches are under way for a time that depends on their way. If what
//      left later has come sooner, what left before brings the line's newest contents instead. They
//      may be those of a region that has committed meanwhile.
//   7  A line belongs to a channel and a bank by its address (channel_of(), bank_of()), whatever
//      the operations make of it. An entry reserved for it there is given back if it goes to
//      another channel, or nowhere.
//   8  A write whose data are elsewhere already has metadata alone go to the queues. Neither it nor
//      what is older can be dropped any more, since the place of the line's former data may be
//      given to others; nor can what is older than a write that has been written.
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
  // `forward_latency`: until a read is answered by a write that is held.
  Backend(EventQueue& queue, Memory& pm, BackendParts parts, Picoseconds forward_latency,
          const BackendFaults& faults = {});
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  ~Backend() override;

  void read(Line line, Completion done);
  WriteId write(const Write& write);
  // For Write::left: data leave the caches.
  std::uint64_t leaving() { return ++left_; }

  // As in Memory, for writes that are held here, too.
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

  // For who predicts writes.
  ResultBuffer& predictions() { return results_; }
  const BackendParts& parts() const { return parts_; }

  // As declared in metadata_port.hpp.
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
  // Empty if nothing is held; otherwise who waits for what.
  std::string pending() const;

 private:
  enum class State : std::uint8_t {
    kHeld,      // by an operation, or by an older write of its line
    kNoRoom,    // for it and its metadata
    kSent,      // to the queues, but not accepted
    kAccepted,  // but not written yet
  };
  // What is to be told of a write that an older one brings.
  struct Brought {
    Completion persisting, written;
  };
  // A write, from its arrival until it has been written.
  struct Passing {
    Write write;
    std::uint64_t order = 0;        // of arrival; 0: none
    std::uint64_t unfinished = 0;   // gates: a bit each
    std::uint32_t older = kNoSlot;  // the line's write before this one
    State state = State::kHeld;
    bool reserved = false;
    bool completed = false;    // it brought part of its line
    bool overwritten = false;  // a newer write of its line, perhaps elsewhere, has been written
    Prepared prepared{};       // what it may use of what was prepared
    WriteId in_queue;
    Encoded encoded;  // once it is sent
    std::vector<Brought> brought{};
    std::uint32_t acknowledgements = kNoSlot;  // of all, if it brings others

    bool here() const { return state <= State::kNoRoom; }
  };
  // Without room: a write and its metadata, or a line of entries by itself.
  struct Waiting {
    WriteId write;
    Line entries{};
    bool is_entries = false;
    Completion persisting{};
  };

  void count(const Write& write, bool sent);
  WriteId take(const Write& write, bool reserved);
  std::uint32_t bringer(const Write& write) const;
  void bring(std::uint32_t slot, const Write& newer);
  void acknowledge(std::uint64_t slot, Time now);
  void forget_acknowledgements(const Passing& passing);
  bool overtaken(const Write& write);
  void gate_done(std::uint64_t slot_and_gate, Time now);
  void send_next(Line line);
  void send_next_later(std::uint64_t line, Time now);
  void send(std::uint32_t slot);
  Encoded encode(Passing& passing) const;
  Write as_sent(std::uint32_t slot);
  void carry(std::uint32_t slot, Write& metadata);
  void leaves(Passing& passing, Encoded encoded);
  void discard_prepared(Passing& passing);
  void send_with_metadata(std::uint64_t, Time now);
  void write_behind_step(std::uint64_t, Time now);
  bool send_waiting(const Waiting& waiting);
  bool send_together(std::uint32_t slot);
  bool send_entries(const Waiting& waiting);
  void accepted(std::uint64_t slot, Time now);
  void written(std::uint64_t slot, Time now);
  void no_longer_here(const Passing& passing);
  void dropped_from_queue(Line line, WriteId in_queue);
  void forget(std::uint32_t slot);
  LineData accepted_newest(Line line) const;
  bool holds_whole(Line line) const;
  bool taken_along(const Passing& passing) const;
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
  LineTable<std::uint32_t> newest_;  // by line: its newest write
  std::deque<Waiting> without_room_;
  bool within_step_ = false;        // operations hear that a write has been accepted, or written
  std::vector<Write> behind_step_;  // metadata
  PassingReads reads_;
  std::uint64_t order_ = 0;
  std::uint64_t left_ = 0;
  LineTable<std::uint64_t> last_left_;  // of the data that have come: Write::left
  ReceivedStatistics received_;
  std::uint64_t held_ = 0;
  std::vector<std::uint32_t> held_by_bank_;
  mutable std::vector<std::uint32_t> all_by_bank_;  // what pending_operations() has returned
};

}  // namespace pmemsim
