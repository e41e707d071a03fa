#include "pmemsim/designs/backend/integrity.hpp"

#include "pmemsim/designs/backend/keys.hpp"

namespace pmemsim {
namespace {

// Returns the name of a hash's sub-operation, counted from the leaf.
std::string hash_name(std::size_t number) {
  std::string name = "I";
  return name += std::to_string(number);
}

// Numbers of sub-operations. A node's is one more than its level.
constexpr std::uint32_t kMac = 0, kLeaf = 1;

}  // namespace

Integrity::Integrity(const IntegrityParameters& parameters, std::uint32_t cores)
    : parameters_(parameters),
      authenticator_(parameters.mac == MacForm::kKeyed ? LineHash(authentication_key())
                                                       : LineHash("SHA1")),
      tree_(parameters.levels),
      cache_(parameters.cache, cores) {}

void Integrity::share(LineEntries& entries) {
  entries_ = &entries;
  entries.seals().authenticator = &authenticator_;
  entries.seals().tree = &tree_;
  entries.seals().persist_nodes = persists_nodes();
  entries.seals().verifier = this;
  entries.seals().faults = {.root = parameters_.faults.root,
                            .tree = parameters_.faults.tree,
                            .address = !macs_have_address(),
                            .nodes = parameters_.faults.nodes};
}

std::vector<SubOperation> Integrity::sub_operations() const {
  const Picoseconds hash = parameters_.hash_latency;
  const std::string leaf_after = parameters_.leaf_after == LeafAfter::kPad ? "E2" : "E1";
  std::vector<SubOperation> all{{.name = "E4",
                                 .latency = parameters_.mac_latency,
                                 .work = WorkKind::kMac,
                                 .external = {.address = true, .data = true},
                                 .after = {"E3", "D2", "C1"},
                                 .unless_duplicate = true},
                                {.name = "I1",
                                 .latency = hash,
                                 .work = WorkKind::kTreeHash,
                                 .external = {.address = true},
                                 .after = {leaf_after, "D2"}}};
  while (all.size() <= parameters_.levels) {
    const std::size_t number = all.size();
    all.push_back({.name = hash_name(number),
                   .latency = hash,
                   .work = WorkKind::kTreeHash,
                   .after = {hash_name(number - 1)}});
  }
  return all;
}

void Integrity::connect(EventQueue& queue, const Memory&, MetadataPort& backend) {
  queue_ = &queue;
  backend_ = &backend;
}

// Returns the line that a sub-operation hashes: the line of entries, or a node.
Line Integrity::node_hashed(std::uint32_t number, Line line) const {
  if (number == kLeaf) return EntryLayout(true).line_of(line);
  return MerkleTree::node_above(leaf_of(line), number - kLeaf);
}

std::optional<Line> Integrity::look_up(std::uint32_t number, const Prediction& subject) {
  if (number == kMac) return {};
  if (number == kLeaf) return entries_->look_up_entry(*subject.line);
  const Line node = node_hashed(number, *subject.line);
  if (cached(node, false)) return {};
  ++nodes_.read;
  return node;
}

Time Integrity::changed_at(std::uint32_t number, const Prediction& subject) const {
  if (number == kMac || ignores_changes()) return kAlways;
  if (parameters_.staleness == Staleness::kAllHashes) return last_unpredicted_;
  const Time* const changed = changed_.find(node_hashed(number, *subject.line));
  return changed == nullptr ? kAlways : *changed;
}

// Returns the sub-operation of the lowest node that both lines share. This node and all above it
// are hashed again.
std::optional<std::uint32_t> Integrity::outdates(const Write& write, const Encoded& encoded,
                                                 Line other) const {
  const bool only_unpredicted = parameters_.staleness != Staleness::kSharedLevels;
  if (ignores_changes() || (only_unpredicted && encoded.predicted)) return {};
  if (parameters_.staleness == Staleness::kAllHashes) return kLeaf;
  const std::uint32_t level = MerkleTree::common_level(leaf_of(write.line), leaf_of(other));
  if (level >= parameters_.levels) return {};
  return kLeaf + level;
}

// Inserts the node into the cache if it isn't there.
bool Integrity::cached(Line node, bool changes) {
  const MetadataCache::Found found = cache_.look_up(node, changes);
  if (found.evicted) {
    count_written(*found.evicted);
    const LineData node = entries_->sealed() ? tree_.node(*found.evicted) : LineData{};
    backend_->write_metadata(*found.evicted, node);
  }
  return found.hit;
}

void Integrity::entries_missed(Line entries) {
  const std::uint64_t leaf = leaf_of(EntryLayout(true).first_covered(entries));
  for (std::uint32_t level = 1; level < parameters_.levels; ++level) {
    const Line node = MerkleTree::node_above(leaf, level);
    if (cached(node, false)) return;
    ++statistics_.nodes_verified;
    ++nodes_.read;
    backend_->read_metadata(node, {});
  }
}

void Integrity::encode(const Write& write, const Prepared& prepared, Encoded& encoded) const {
  encoded.stale_hashes =
      parameters_.faults.stale_nodes && prepared.data && changed_since(prepared.since, write.line);
  if (encoded.duplicate) return;
  entries_->begin_seal(encoded);
  if (!entries_->sealed()) return;
  const Line place = macs_have_address() ? encoded.place : Line{};
  encoded.seal.mac = mac_of(authenticator_, place, encoded.seal.counter, encoded.data);
  if (parameters_.faults.mac) encoded.seal.mac = entries_->seal_at(encoded.place).mac;
}

void Integrity::entries_written_back(Line entries) {
  if (!persists_nodes()) return;
  const std::uint64_t leaf = leaf_of(EntryLayout(true).first_covered(entries));
  for (std::uint32_t level = 1; level < parameters_.levels; ++level) {
    const Line node = MerkleTree::node_above(leaf, level);
    count_written(node);
    cache_.mark_clean(node);
  }
}

void Integrity::count_written(Line node) {
  ++(level_of(node) == 1 ? nodes_.lowest_written : nodes_.higher_written);
}

// Inserts the node into the cache if it isn't there. `persisted`: PM has its new contents, too.
void Integrity::node_changed(Line node, bool persisted) {
  cached(node, !persisted);
  if (!persisted) return;
  count_written(node);
  cache_.mark_clean(node);
}

// If the write has no metadata, the line's entry is written later.
void Integrity::accepted(const Write& write, const Encoded& encoded) {
  if (!encoded.predicted) last_unpredicted_ = queue_->now();
  const bool outdates = parameters_.staleness != Staleness::kUnpredicted || !encoded.predicted;
  const bool persisted = persists_nodes() && !encoded.metadata.empty();
  for (std::uint32_t number = kLeaf; number < kLeaf + parameters_.levels; ++number) {
    const Line node = node_hashed(number, write.line);
    if (outdates) note_change(node);
    if (number != kLeaf) node_changed(node, persisted);
  }
}

bool Integrity::changed_since(Time since, Line line) const {
  for (std::uint32_t number = kLeaf; number < kLeaf + parameters_.levels; ++number) {
    const Time* const changed = changed_.find(node_hashed(number, line));
    if (changed != nullptr && *changed >= since) return true;
  }
  return false;
}

void Integrity::note_change(Line node) {
  Time* changed = changed_.find(node);
  if (changed == nullptr) changed = &changed_.insert(node);
  *changed = queue_->now();
}

void Integrity::statistics(StatisticsCollector& collector) const {
  collector.group("integrity", statistics_);
  collector.group("tree_cache", cache_.statistics());
  collector.group("metadata", nodes_);
}

// The roots are among the registers of LineEntries.
void Integrity::add_registers(SurvivingRegisters& registers) const {
  registers.add_operation("integrity");
  registers.published_macs = parameters_.mac == MacForm::kPublished;
  if (!registers.published_macs) registers.authentication_key = authentication_key();
}

}  // namespace pmemsim
