// Integrity verification (Janus, 4.2): a MAC for each line, and a Bonsai Merkle tree over the
// lines' counters, whose root is in a persistent register.
//
//   E4      Computes the MAC: a keyed hash of ciphertext, address and counter. (The paper counts E4
//           among encryption's steps. Here it exists only with integrity. [Open: its time; here
//           that of SHA-1] As published, 4.2, the MAC is a hash of ciphertext and counter, and the
//           paper mentions no key. An attacker could then compute a MAC, or move a line's data, MAC
//           and counter to another line.)
//   I1      Computes the hash of the leaf, which is the line of entries that has the written line's
//           entry. (In PMWeaver's artifact, I1 also waits for the pad.)
//   I2, ... Compute the hashes above the leaf, up to the root. With nodes of eight hashes and 4 GB
//           of PM, I1 to I9 compute nine hashes.
//
// A line of entries that is read from PM is verified from its leaf up to the first node that is
// cached (2.2: "uses caching to reduce the number of verification steps"). [Open: reads of data
// don't wait for this verification.]
//
// Entries, the tree's leaves, are persistent with their data, and recovery rebuilds the tree.
// [Open: the nodes, `persist_nodes`.] With `leaves`, nodes are written when they are evicted, and
// recovery ignores them. With `all`, the nodes above an entry are persistent in one step with it,
// and recovery compares them with the nodes and entries below them.
//
// Hashes for a predicted write belong to the tree at that time. Every write changes the root, so
// that, strictly, nothing could be done early (4.3.1). [Open: hashes below the lowest node that has
// been changed since remain valid. The hashes of that node and of all nodes above it are
// recomputed. `ignored`: all hashes remain valid.] PMWeaver (V-C3) recomputes only after writes
// that were unpredicted or predicted wrongly. This requires that the hashes of a prediction include
// the changes of all earlier predicted writes, which the model assumes.
#pragma once

#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/line_entries.hpp"

namespace pmemsim {

// Injected faults: each disables one protective mechanism.
struct IntegrityFaults {
  bool root = false;
  bool tree = false;
  bool mac = false;
  bool address = false;
  bool stale_nodes = false;
  bool nodes = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("root", root, "the register of the root isn't updated");
    visit("tree", tree, "the hash of a leaf covers its contents before the write");
    visit("mac", mac, "the entry keeps the MAC of the old data");
    visit("address", address, "MACs don't cover the address");
    visit("stale_nodes", stale_nodes,
          "hashes computed before their write arrived are used although other writes changed their "
          "inputs");
    visit("nodes", nodes, "nodes are persisted with their contents before the write");
  }
};

// The hashes that a write makes invalid if they were computed before their own write arrives.
enum class Staleness : std::uint8_t {
  kSharedLevels,  // the hashes of all nodes that it has changed
  kUnpredicted,   // the same hashes, if it wasn't predicted as a whole (PMWeaver, V-C3)
  kAllHashes,     // all hashes, if it wasn't predicted as a whole (PMWeaver's artifact)
  kIgnored,       // no hashes
};

inline std::span<const std::string_view> choice_names(Staleness) {
  static constexpr std::string_view kNames[] = {"shared-levels", "unpredicted",
                                                "unpredicted-all-hashes", "ignored"};
  return kNames;
}

enum class MacForm : std::uint8_t { kKeyed, kPublished };

inline std::span<const std::string_view> choice_names(MacForm) {
  static constexpr std::string_view kNames[] = {"keyed", "published"};
  return kNames;
}

// The earliest time at which the hash of the leaf may start.
enum class LeafAfter : std::uint8_t { kCounter, kPad };

inline std::span<const std::string_view> choice_names(LeafAfter) {
  static constexpr std::string_view kNames[] = {"counter", "pad"};
  return kNames;
}

// The parts of the tree that are persistent in one step with the data (strict or leaf persistence,
// Thomas et al., ASPLOS 2024).
enum class PersistNodes : std::uint8_t { kLeaves, kAll };

inline std::span<const std::string_view> choice_names(PersistNodes) {
  static constexpr std::string_view kNames[] = {"leaves", "all"};
  return kNames;
}

struct IntegrityParameters {
  Picoseconds hash_latency{40'000};
  Picoseconds mac_latency{40'000};
  LeafAfter leaf_after = LeafAfter::kCounter;
  std::uint32_t levels = 9;
  PersistNodes persist_nodes = PersistNodes::kLeaves;
  Staleness staleness = Staleness::kSharedLevels;
  MacForm mac = MacForm::kKeyed;
  MetadataCacheParameters cache;
  IntegrityFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("hash_latency", hash_latency, {.most = 1e9}, "Time to compute the hash of a tree node");
    visit("mac_latency", mac_latency, {.most = 1e9}, "Time to compute a line's MAC");
    visit("leaf_after", leaf_after, {},
          "Inputs for which the tree's hashes wait: the line's new counter, or also the pad, as if "
          "one unit computed both");
    visit("levels", levels, {.least = 1, .most = 16},
          "Number of hashes from a line of entries to the root, including both");
    visit("persist_nodes", persist_nodes, {},
          "Parts of the tree that persist together with the data. leaves: only the lines of "
          "entries, and nodes are written on eviction; all: also the nodes up to the root");
    visit("staleness", staleness, {},
          "Precomputed hashes that another write invalidates. shared-levels: those above the "
          "changed nodes; unpredicted: the same, but only by a write that was not completely "
          "predicted; unpredicted-all-hashes: all hashes, by such a write; ignored: none");
    visit("mac", mac, {},
          "keyed: MACs are HMACs of ciphertext, address and counter; published: unkeyed hashes of "
          "ciphertext and counter, which an attacker can compute");
    visit.group("cache", cache);
  }
};

struct IntegrityStatistics {
  std::uint64_t nodes_verified = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("nodes_verified", nodes_verified, "nodes",
          "Tree nodes read from PM to verify entries or lower nodes",
          part_of("metadata.nodes_read"), part_of("received.metadata_reads"));
  }
};

struct NodeStatistics {
  std::uint64_t read = 0, lowest_written = 0, higher_written = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("nodes_read", read, "lines", "Tree nodes requested from PM",
          part_of("tree_cache.misses"));
    visit("lowest_nodes_written", lowest_written, "lines",
          "Nodes with hashes of entries sent to PM, together with the entries or on eviction",
          origin_of("pm.metadata_writes"));
    visit("higher_nodes_written", higher_written, "lines",
          "Nodes with hashes of nodes sent to PM, together with entries or on eviction",
          origin_of("pm.metadata_writes"));
  }
};

class Integrity final : public BackendOperation, private EntryVerifier {
 public:
  Integrity(const IntegrityParameters& parameters, std::uint32_t cores);
  void connect(EventQueue& queue, const Memory&, MetadataPort& backend) override;
  Traits traits() const override {
    return {.most_metadata = persists_nodes() ? tree_.levels() - 1 : 0, .needs_entries = true};
  }
  void share(LineEntries& entries) override;

  std::vector<SubOperation> sub_operations() const override;
  std::optional<Line> look_up(std::uint32_t number, const Prediction& subject) override;
  Time changed_at(std::uint32_t number, const Prediction& subject) const override;
  std::optional<std::uint32_t> outdates(const Write& write, const Encoded& encoded,
                                        Line other) const override;
  void encode(const Write&, const Prepared&, Encoded& encoded) const override;
  void accepted(const Write& write, const Encoded&) override;
  void add_registers(SurvivingRegisters& registers) const override;
  void statistics(StatisticsCollector& collector) const override;

 private:
  void entries_missed(Line entries) override;
  void entries_written_back(Line entries) override;
  bool persists_nodes() const { return parameters_.persist_nodes == PersistNodes::kAll; }
  void node_changed(Line node, bool persisted);
  void count_written(Line node);
  bool macs_have_address() const {
    return parameters_.mac == MacForm::kKeyed && !parameters_.faults.address;
  }
  std::uint64_t leaf_of(Line line) const { return EntryLayout(true).leaf_of(line); }
  Line node_hashed(std::uint32_t number, Line line) const;
  bool cached(Line node, bool changes);
  void note_change(Line node);
  bool changed_since(Time since, Line line) const;
  bool ignores_changes() const {
    return parameters_.staleness == Staleness::kIgnored || parameters_.faults.stale_nodes;
  }

  const IntegrityParameters parameters_;
  const LineHash authenticator_;
  MerkleTree tree_;
  MetadataCache cache_;
  Time last_unpredicted_ = kAlways;
  LineTable<Time> changed_;  // time of the last noted change of each node and line of entries
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  LineEntries* entries_ = nullptr;
  IntegrityStatistics statistics_;
  NodeStatistics nodes_;
};

}  // namespace pmemsim
