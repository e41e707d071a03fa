// Layer 3, backend: the work that the controller does on a write before the write is accepted.
//
// Every write to PM, from any sender, and every read from PM passes through the backend to the
// controller's queues (machine/memory/memory.hpp). The backend is a list of operations
// (designs/backend/operation.hpp). It sends a write to the queues when all operations have
// finished their work on the write, and answers a read likewise. Without operations, it forwards
// every request at once.
//
//   1  The backend holds a write until it sends the write to the queues. A held write isn't
//      accepted: a crash loses it. In every other respect, it behaves like a write in a queue: it
//      can be found, dropped and counted. Held writes answer a read of their line if they have all
//      bytes of the line.
//   2  The writes of a line are sent in the order of their arrival. Each is sent when the previous
//      one has been accepted.
//      A write may arrive while operations still work on the previous write of its line. It then
//      coalesces with the previous write, as writes merge in a queue. The two have one identity,
//      kind and owner, and are accepted or dropped together. [Open: neither Janus nor PMWeaver says
//      what happens to such a write.]
//   3  The operations encode a write with their state at the time when it is sent. They may choose
//      another location for its data, and may add lines of metadata, which are accepted in the same
//      step. A write with metadata waits until the queues have free entries for all of its lines.
//      Writes with metadata are sent in the order in which they became ready.
//   4  A partial write, which has only some bytes of its line, is treated as a write of the whole
//      line. Until it is sent, operations see the line's newest contents in the missing bytes. When
//      it is encoded, the missing bytes are filled with the line's accepted contents at that time.
//      Because of rule 2, these include all older writes of the line. An older write can't be
//      dropped any more once a newer partial write of its line has been filled.
//   5  Operations may start before a write arrives, on predicted data (result_buffer.hpp). An
//      arriving write takes over the results that match it, and keeps them until it is sent or
//      dropped. A partial write loses the results that depend on data if its missing bytes have
//      changed by the time it is encoded. A write that uses results that depend on data is encoded
//      with the data from which these results were computed.
//   6  Data that leave the caches are in flight for a time that depends on their path. Newer data
//      of a line may therefore arrive before older data. The write that left the caches earlier
//      then carries the line's newest contents instead of its own. These may include stores of a
//      region that has committed since.
//   7  A line belongs to the channel and bank that its address selects (channel_of(), bank_of()),
//      even if the operations choose a location in another channel. A queue entry that was
//      reserved in the line's own channel is released if the data aren't sent to that channel.
//   8  If PM already has a write's data, only the write's metadata are sent to the queues. Neither
//      this write nor an older write of its line can be dropped any more, because the location of
//      the line's former data may be reused. A write can't be dropped either if a newer write of
//      its line has been written to the device.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/designs/backend/coalesced_acknowledgements.hpp"
#include "pmemsim/designs/backend/departures.hpp"
#include "pmemsim/designs/backend/held_by_bank.hpp"
#include "pmemsim/designs/backend/metadata_port.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/passing_reads.hpp"
#include "pmemsim/designs/backend/passing_writes.hpp"
#include "pmemsim/designs/backend/received_statistics.hpp"
#include "pmemsim/designs/backend/result_buffer.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class Backend final : public MetadataPort {
 public:
  // `forward_latency`: the latency of a read that held writes answer.
  Backend(EventQueue& queue, Memory& pm, BackendParts parts, Picoseconds forward_latency,
          const BackendFaults& faults = {});
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  ~Backend() override;

  void read(Line line, Completion done);
  WriteId write(const Write& write);
  // Returns the next value of Write::departure, for data that leave the caches.
  std::uint64_t next_departure() { return departures_.next(); }

  // The functions of Memory with the same names, extended to held writes.
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

  // Implementation of MetadataPort.
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

  const BackendFaults& injected_faults() const override { return faults_; }
  void observe(WriteObserver* observer) const;
  // Logs the stages of writes, of operations on them and of predictions.
  void log_stages(StageLog* stages);
  void profile(RequestStages* stages);
  void statistics(StatisticsCollector& collector) const;
  // Describes the held writes and the causes of their waits; empty if none is held.
  std::string pending() const;

 private:
  using State = PassingWrite::State;
  // A request that waits for free queue entries: a write with its metadata, or the write-back of a
  // line of entries (line_entries.hpp).
  struct Waiting {
    WriteId write;
    Line entries{};
    bool is_entries = false;  // true for the write-back of `entries`
    Completion persisting{};
  };

  WriteId take(const Write& write, bool reserved);
  std::uint32_t coalescing_target(const Write& write) const;
  void coalesce(std::uint32_t slot, const Write& newer);
  void gate_done(std::uint64_t slot_and_gate, Time now);
  void send_next(std::uint64_t line, Time now);
  void send(std::uint32_t slot);
  Encoded encode(PassingWrite& passing) const;
  Write as_sent(std::uint32_t slot);
  void mark_sent(PassingWrite& passing, Encoded encoded);
  void discard_prepared(PassingWrite& passing);
  void send_with_metadata(std::uint64_t, Time now);
  void write_after_step(std::uint64_t, Time now);
  bool send_write(const Waiting& waiting);
  bool send_entries(const Waiting& waiting);
  void accepted(std::uint64_t slot, Time now);
  void written(std::uint64_t slot, Time now);
  void dropped_from_queue(Line line, WriteId in_queue);

  EventQueue& queue_;
  Memory& pm_;
  const BackendParts parts_;
  std::vector<WriteGate*> gates_;
  RequestStages* waits_ = nullptr;  // nullptr: the run isn't profiled
  const Picoseconds forward_latency_;
  bool keeps_outdated_ = false;  // true if a gate recomputes outdated results itself
  const BackendFaults faults_;
  StageLog* stages_ = nullptr;
  ResultBuffer results_;
  PassingWrites writes_;
  CoalescedAcknowledgements acknowledgements_;
  std::deque<Waiting> awaiting_entries_;
  // True while operations are notified that a write is accepted or written.
  bool within_step_ = false;
  std::vector<Write> after_step_;  // metadata writes to send after that step
  PassingReads reads_;
  Departures departures_;
  ReceivedStatistics received_;
  HeldByBank held_;
};

}  // namespace pmemsim
