// The entries of lines. An entry has the location (`place`) of its line's data, a counter that
// identifies the write of these data, and a MAC (Janus, 4.2 and 5.1). Encryption, integrity and
// deduplication share the entries. They are therefore a separate part of the backend, which exists
// if at least one of these operations is chosen, and is called after these operations.
//
//   1  Entries are stored in PM, in lines of their own, and are cached on the chip. An entry has 16
//      bytes, so that a line of entries covers 4 lines of data; without integrity it has no MAC and
//      8 bytes. [Open: neither Janus nor PMWeaver says where MACs are stored. Here a MAC is beside
//      its counter, so that every reader of the counter has the MAC, too.]
//   2  A write's data, entry and MAC become persistent in one step (metadata atomicity, 4.3.2),
//      unless its entry may be written later (deferred_entries.hpp). Entries of other lines in the
//      same line of entries become persistent with it.
//   3  Counters are taken from one persistent register. It counts every write that is sent, even if
//      a crash loses the write. A pad, which depends on a location and a counter, is therefore
//      never used for two plaintexts. After power-on, the machine continues with the register's
//      value. [Open: with a counter for each line, a value would be used again if a crash has lost
//      the last one, or a mapping has replaced it.] A line that has never been written has counter
//      0, and is zero; a line that PM holds when a program starts has counter 1.
//   4  If deduplication has mapped a line to another location, the line's entry has the counter and
//      the MAC of that location. (In the paper, an entry has either a counter or a mapping. Here it
//      has both, so that a read takes one look-up.)
//   5  If data are dropped from a queue after their acceptance, their entry remains. The line can't
//      be read until it is written again. The layer that drops the data doesn't read the line.
//   6  Simulated times don't depend on the encrypted contents. If nothing will read the device's
//      contents, data are stored in plain text, and neither MACs nor the tree's hashes are
//      computed.
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

class PlacementTables;

// Observer of lines of entries. It is notified of lines that are read from PM, which have to be
// verified, and of lines that have become persistent later than their data.
class EntryVerifier {
 public:
  virtual void entries_missed(Line entries) = 0;
  virtual void entries_written_back(Line entries) = 0;

 protected:
  ~EntryVerifier() = default;
};

// The objects that seal lines (encrypt or authenticate them); nullptr if the operation isn't
// chosen.
struct Seals {
  const LineCipher* cipher = nullptr;
  const LineHash* authenticator = nullptr;
  // The tree over all persistent entries, whose roots are in a persistent register.
  MerkleTree* tree = nullptr;
  bool persist_nodes = false;  // true if nodes persist in one step with the entries below them
  EntryVerifier* verifier = nullptr;
  PlacementTables* placements = nullptr;  // owner of tables that recovery rebuilds
  bool known_of_others = false;           // true if an operation reads the entries of other lines
  struct {
    bool root = false, tree = false, address = false, nodes = false;
  } faults{};  // injected faults of integrity
};

struct EntryStatistics {
  std::uint64_t read = 0, written = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("entries_read", read, "lines", "Lines of entries (counters and MACs) requested from PM",
          part_of("counter_cache.misses"));
    visit("entries_written", written, "lines",
          "Lines of entries sent to PM, together with their data or later",
          origin_of("pm.metadata_writes"));
  }
};

class LineEntries final : public WriteGate {
 public:
  // `defers`: entries may be written later than their data.
  LineEntries(const MetadataCacheParameters& cache, std::uint32_t cores, bool defers)
      : cache_(cache, cores), defers_(defers), deferred_(cache_) {}
  // Returns the seals, which operations that seal lines set before the run.
  Seals& seals() { return seals_; }
  // True if lines are sealed (rule 6).
  bool sealed() const { return sealed_; }

  void connect(EventQueue& queue, MetadataPort& backend);
  // Called before the run, if the device's contents will be read. Seals the plain-text lines, as if
  // this backend had written them.
  void format(Image& device);
  // Called instead of format() if the device's contents won't be read (rule 6).
  void skip_sealing() { sealed_ = false; }
  // Called instead of format() to continue after a crash, with the device's contents and the
  // registers that have survived. The tables of deduplication aren't rebuilt. Only
  // tests use this function, to check rule 3 across a crash; no command continues after one.
  void restart(const Image& device, const SurvivingRegisters& registers);

  // Returns the line of entries that has this line's entry, if it must be read because it isn't
  // cached.
  std::optional<Line> look_up_entry(Line line);
  // Called from encode() of the first operation that seals the data. Later operations don't move
  // the data. They get the counter of the next write to be sent.
  void begin_seal(Encoded& encoded) const {
    if (encoded.seal.counter == 0) encoded.seal = {.place = encoded.place, .counter = counter_ + 1};
  }
  // Returns the entry of the line's newest accepted data.
  Seal entry_of(Line line) const;
  // Returns the seal of the newest data at this location that were accepted and not dropped.
  // Counter 0: the data are in plain text.
  Seal seal_at(Line place) const;

  bool write(const Write& write, const Prepared&, Completion done) override;
  // False if the newer write is a commit. A commit waits for the entries of all writes accepted
  // before its own arrival, and the older write has arrived earlier.
  bool may_coalesce(const Write& newer) const override {
    return need(newer.line) != EntryNeed::kCommit;
  }
  void forget(const Completion& done) override { deferred_.forget(done); }

  // Functions that BackendOperation declares (operation.hpp), called after those of the last
  // operation that needs entries.
  void encode(const Write& write, const Prepared&, Encoded& encoded) const;
  void sent(const Write&, const Encoded& encoded);
  void accepted(const Write& write, const Encoded& encoded);
  void dropped(const Write& write, const Encoded& encoded, bool accepted);
  void written(const Write&, const Encoded& encoded);
  std::unique_ptr<ImageDecoder> decoder() const;
  void add_registers(SurvivingRegisters& registers) const;
  void statistics(StatisticsCollector& collector) const;
  std::string pending() const { return deferred_.pending(); }

  // Called when a program's store to the line is about to become visible.
  void stored(Line line, EntryNeed need) {
    if (defers_) deferred_.stored(line, need);
  }
  // Writes deferred entries before a commit. Returns true if a crash now would leave all accepted
  // data readable. Otherwise `done` will be called once, when that is so.
  bool publish(Completion done) { return deferred_.publish(done); }
  // Returns the current contents of a line of entries, followed by other lines that have to become
  // persistent in one step with it.
  std::vector<Encoded::Metadata> metadata(Line entries) const;
  // Called from within the queue when the line of entries that DeferredEntries has sent is
  // persistent.
  void written_back(std::uint64_t entries, Time now);
  // Implements Backend::evicted().
  std::optional<LineData> evicted(Line line, const LineData& data) const;

 private:
  EntryNeed need(Line line) const { return defers_ ? deferred_.need(line) : EntryNeed::kTogether; }
  void format_line(Image& device, Line line);
  void take_over(Line entries, const LineData& contents);
  bool cached(Line entries, bool changes);
  void keep(Line line, const Seal& entry, bool duplicate);
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
  std::uint64_t counter_ = 0;  // value of a persistent register
  LineTable<Seal> entries_;
  LineTable<Seal> seals_at_;  // keyed by place
  // Seals that accepted data have replaced, keyed by the counter of these data as long as they can
  // be dropped.
  FlatTable<Counter, Seal> before_;
  EntryStatistics statistics_;
};

}  // namespace pmemsim
