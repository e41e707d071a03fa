// The entries of lines: for each line of PM where its data are, a counter that says by which write
// they came there, and a MAC (Janus, 4.2 and 5.1). Encryption, integrity and deduplication have
// them in common, so they are a part of the backend of their own, which is there when one of these
// is, and comes behind them.
//
//   1  Entries lie in PM, in lines of their own, and are cached on the chip. An entry has 16 bytes,
//      so that a line of entries covers four of data; without integrity it has no MAC and 8 bytes.
//      [Open: neither paper says where MACs are. Beside the counter, whoever reads a line's counter
//      has what it is to be checked with.]
//   2  A write's data, entry and MAC are persistent in one step (metadata atomicity, 4.3.2), unless
//      its entry may come later (deferred_entries.hpp). Entries of other lines go along.
//   3  Counters come from one persistent register, which has counted every write that was sent,
//      whatever a crash has lost: no pad, of a place and a counter, is used for two plaintexts. A
//      machine that is switched on again goes on from there.
//      [Open: a counter for each line would begin again where a crash has lost the last one, or a
//      mapping has taken its place.] A line that has never been written has counter 0, and is zero;
//      what programs find there has counter 1.
//   4  A line whose data are elsewhere has the counter and the MAC of that place. (The paper's
//      entry is a counter or a mapping; where both fit, reading takes one look-up.)
//   5  Data that are dropped from a queue although they were accepted leave their entry behind: the
//      line can't be read until it is written again. Who drops them doesn't read it.
//   6  Times don't depend on it, so that where nobody will look at the device data stand there in
//      the clear, and neither MACs nor the tree's hashes are worked out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/deferred_entries.hpp"
#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/line_crypto.hpp"
#include "pmemsim/designs/backend/merkle_tree.hpp"
#include "pmemsim/designs/backend/metadata_cache.hpp"
#include "pmemsim/designs/backend/metadata_port.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/write_gate.hpp"

namespace pmemsim {

class PlaceKeeper;

// Told of lines of entries that come from PM, and have to be verified, and of those that have
// become persistent later than their data.
class EntryVerifier {
 public:
  virtual void entries_missed(Line entries) = 0;
  virtual void entries_written_back(Line entries) = 0;

 protected:
  ~EntryVerifier() = default;
};

// How lines are sealed; nullptr where it isn't done.
struct Seals {
  const LineCipher* cipher = nullptr;
  const LineHash* authenticator = nullptr;
  MerkleTree* tree = nullptr;  // over what is persistent; its roots are in a persistent register
  bool persist_nodes = false;  // of the tree, in one step with the entries below
  EntryVerifier* verifier = nullptr;
  PlaceKeeper* keeper = nullptr;  // of tables that recovery rebuilds
  bool known_of_others = false;   // an operation asks for the entries of other lines
  struct {
    bool root = false, tree = false, address = false, nodes = false;
  } faults{};  // of integrity
};

struct EntryStatistics {
  std::uint64_t read = 0, written = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("entries_read", read, "lines", "Lines of entries (counters and MACs) asked from PM",
          part_of("counter_cache.misses"));
    visit("entries_written", written, "lines",
          "Lines of entries sent to PM, with their data or later", origin_of("pm.metadata_writes"));
  }
};

class LineEntries final : public WriteGate {
 public:
  // `defers`: entries may come later than their data.
  LineEntries(const MetadataCacheParameters& cache, std::uint32_t cores, bool defers)
      : cache_(cache, cores), defers_(defers), deferred_(cache_) {}
  // By operations that seal lines, before the run.
  Seals& seals() { return seals_; }
  // Rule 6.
  bool sealed() const { return sealed_; }

  void connect(EventQueue& queue, MetadataPort& backend);
  // Before the run, if somebody will look at the device: it holds what programs find there in the
  // clear, and shall hold it as if it had been written here.
  void format(Image& device);
  // Instead, if nobody will: what it holds needn't be encrypted, or hashed. Times are the same.
  void leave_unsealed() { sealed_ = false; }
  // Instead: the device holds what a crash has left, and these registers have survived. Tables that
  // deduplication keeps aren't rebuilt. (No command goes on after a crash. That rule 3 holds over
  // one can be seen only by going on: tests do.)
  void restart(const Image& device, const SurvivingRegisters& registers);

  // The line of entries that has to be read first, if it isn't cached.
  std::optional<Line> look_up_entry(Line line);
  // From within encode(), by whoever seals the data first: they are where they stay, and get the
  // counter of the next write to be sent.
  void begin_seal(Encoded& encoded) const {
    if (encoded.seal.counter == 0) encoded.seal = {.place = encoded.place, .counter = counter_ + 1};
  }
  // Of its newest data that have been accepted.
  Seal entry_of(Line line) const;
  // Of the newest data there that have been accepted, and not dropped. Counter 0: in the clear.
  Seal seal_at(Line place) const;

  bool write(const Write& write, const Prepared&, Completion done) override;
  // A commit has to wait for what has been accepted before it came, not before the other one did.
  bool may_bring(const Write& newer) const override {
    return need(newer.line) != EntryNeed::kCommit;
  }
  void forget(const Completion& done) override { deferred_.forget(done); }

  // As those of an operation (operation.hpp), behind the last one that needs entries.
  void encode(const Write& write, const Prepared&, Encoded& encoded) const;
  void sent(const Write&, const Encoded& encoded);
  void accepted(const Write& write, const Encoded& encoded);
  void dropped(const Write& write, const Encoded& encoded, bool accepted);
  void written(const Write&, const Encoded& encoded);
  std::unique_ptr<ImageDecoder> decoder() const;
  void add_registers(SurvivingRegisters& registers) const;
  void statistics(StatisticsCollector& collector) const;
  std::string pending() const { return deferred_.pending(); }

  // A program's store to the line is about to become visible.
  void stored(Line line, EntryNeed need) {
    if (defers_) deferred_.stored(line, need);
  }
  // True: what has been accepted could be read after a crash. Otherwise `done` will be called once,
  // when what has been until now could.
  bool publish(Completion done) { return deferred_.publish(done); }
  // What a line of entries holds now, and others that have to become persistent in one step with
  // it, behind it.
  std::vector<Encoded::Metadata> metadata(Line entries) const;
  // From within the queue: the line of entries that DeferredEntries has sent is persistent.
  void written_back(std::uint64_t entries, Time now);
  // Backend::evicted()
  std::optional<LineData> evicted(Line line, const LineData& data) const;

 private:
  EntryNeed need(Line line) const { return defers_ ? deferred_.need(line) : EntryNeed::kTogether; }
  void format_line(Image& device, Line line);
  void take_over(Line entries, const LineData& contents);
  bool cached(Line entries, bool changes);
  void keep(Line line, const Seal& entry, bool elsewhere);
  void persistent(Line entries, const LineData& contents);
  LineData contents(Line entries) const;
  void add_nodes(Line entries, const LineData& data,
                 std::vector<Encoded::Metadata>& metadata) const;
  struct Counter {
    std::uint64_t number = 0;
    bool operator==(const Counter&) const = default;
  };

  std::uint64_t leaf_of(Line entries) const {
    return layout().leaf_of(layout().first_covered(entries));
  }
  EntryLayout layout() const { return EntryLayout(seals_.authenticator != nullptr); }

  Seals seals_;
  MetadataCache cache_;
  const bool defers_;
  bool sealed_ = true;
  DeferredEntries deferred_;
  MetadataPort* backend_ = nullptr;
  std::uint64_t counter_ = 0;  // a persistent register
  LineTable<Seal> entries_;
  LineTable<Seal> seals_at_;  // by place
  // Of accepted data that could still be dropped, by their counter: those before them.
  FlatTable<Counter, Seal> before_;
  EntryStatistics statistics_;
};

}  // namespace pmemsim
