// Counter-mode encryption (Janus, 3.1): a line and its counter yield a one-time pad; the line is
// written as the XOR of its data and the pad.
//
//   E1  Takes a new counter: the line's entry is looked up (line_entries.hpp). [Open: its time;
//       here 0]
//   E2  Computes the pad, by AES.
//   E3  Computes the XOR. [Open: its time; here 0] With deduplication, E3 starts only after
//       the look-up of the data.
//
// A write changes its line's counter, so that results prepared for other writes of the line become
// invalid.
//
// A read decrypts its line: the pad is computed while PM is read, as soon as the entry is available
// (2.2).
#pragma once

#include <memory>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/line_entries.hpp"

namespace pmemsim {

// Injected faults: each disables one protective mechanism.
struct EncryptionFaults {
  bool counter = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("counter", counter,
          "every second write of a line reuses the counter of the write before");
  }
};

struct EncryptionParameters {
  Picoseconds aes_latency{40'000};
  EncryptionFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("aes_latency", aes_latency, {.most = 1e9}, "Time to compute a line's one-time pad (AES)");
  }
};

struct EncryptionStatistics {
  std::uint64_t read_pads = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("read_pads", read_pads, "lines", "One-time pads computed for reads",
          share_of("received.sent_reads", "pads"));
  }
};

class Encryption final : public BackendOperation {
 public:
  explicit Encryption(const EncryptionParameters& parameters);
  void connect(EventQueue& queue, const Memory&, MetadataPort& backend) override;
  Traits traits() const override { return {.needs_entries = true}; }
  void share(LineEntries& entries) override;

  std::vector<SubOperation> sub_operations() const override;
  std::optional<Line> look_up(std::uint32_t number, const Prediction& subject) override;
  bool read(Line line, Completion done) override;
  void encode(const Write&, const Prepared&, Encoded& encoded) const override;
  void accepted(const Write& write, const Encoded&) override;
  LineData decode(Line place, const LineData& data) const override;
  void add_registers(SurvivingRegisters& registers) const override;
  void statistics(StatisticsCollector& collector) const override;

 private:
  void make_pad(std::uint64_t slot, Time now);
  void pad_made(std::uint64_t slot, Time now);

  const EncryptionParameters parameters_;
  const LineCipher cipher_;
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  LineEntries* entries_ = nullptr;
  Slab<Completion> reads_;
  EncryptionStatistics statistics_;
};

}  // namespace pmemsim
