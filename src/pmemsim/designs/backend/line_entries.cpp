#include "pmemsim/designs/backend/line_entries.hpp"

#include <cstring>
#include <vector>

#include "pmemsim/designs/backend/sealed_image.hpp"

namespace pmemsim {

void LineEntries::connect(EventQueue& queue, MetadataPort& backend) {
  backend_ = &backend;
  deferred_.connect(queue, backend, completion<&LineEntries::written_back>(*this));
}

// Implements rule 3 (line_entries.hpp).
void LineEntries::format(Image& device) {
  if (seals_.cipher == nullptr && seals_.authenticator == nullptr) return;
  std::vector<Line> lines;
  device.for_each_page([&](std::uint64_t address, const std::byte*) {
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(address + at);
      if (device.read(line) != LineData{}) lines.push_back(line);
    }
  });
  std::vector<Line> entries;
  for (const Line line : lines) {
    format_line(device, line);
    if (entries.empty() || entries.back() != layout().line_of(line)) {
      entries.push_back(layout().line_of(line));
    }
  }
  for (const Line line : entries) {
    const LineData formatted = contents(line);
    device.write(line, formatted);
    persistent(line, formatted);
  }
  if (!seals_.persist_nodes) return;
  for (const Line node : seals_.tree->all_nodes()) device.write(node, seals_.tree->node(node));
}

void LineEntries::format_line(Image& device, Line line) {
  counter_ = kInitialCounter;
  Seal seal{.place = line, .counter = counter_};
  LineData data = device.read(line);
  if (seals_.cipher != nullptr) data = seals_.cipher->apply(line, seal.counter, data);
  if (seals_.authenticator != nullptr) {
    const Line place = seals_.faults.address ? Line{} : line;
    seal.mac = mac_of(*seals_.authenticator, place, seal.counter, data);
  }
  device.write(line, data);
  entries_.insert(line) = seals_at_.insert(line) = seal;
}

void LineEntries::restart(const Image& device, const SurvivingRegisters& registers) {
  counter_ = *registers.write_counter;
  device.for_each_page([&](std::uint64_t address, const std::byte*) {
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line place = Line::of(address + at);
      if (layout().holds_entries(place)) take_over(place, device.read(place));
    }
  });
}

void LineEntries::take_over(Line entries, const LineData& contents) {
  const Line first = layout().first_covered(entries);
  for (std::uint64_t i = 0; i < layout().lines_covered(); ++i) {
    const Line line{first.number + i};
    const Seal entry = layout().get(contents, line);
    if (entry.counter != 0) entries_.insert(line) = seals_at_.insert(line) = entry;
  }
  persistent(entries, contents);
}

// Inserts the line into the cache if it isn't there.
bool LineEntries::cached(Line entries, bool changes) {
  const MetadataCache::Found found = cache_.look_up(entries, changes);
  if (found.evicted) deferred_.write_back(*found.evicted);
  return found.hit;
}

std::optional<Line> LineEntries::look_up_entry(Line line) {
  const Line entries = layout().line_of(line);
  if (cached(entries, false)) return {};
  ++statistics_.read;
  if (seals_.verifier != nullptr) seals_.verifier->entries_missed(entries);
  return entries;
}

Seal LineEntries::seal_at(Line place) const {
  const Seal* const seal = seals_at_.find(place);
  return seal == nullptr ? Seal{.place = place} : *seal;
}

Seal LineEntries::entry_of(Line line) const {
  const Seal* const entry = entries_.find(line);
  return entry == nullptr ? Seal{.place = line} : *entry;
}

LineData LineEntries::contents(Line entries) const {
  if (!sealed_) return {};
  const EntryLayout layout = this->layout();
  const Line first = layout.first_covered(entries);
  LineData data{};
  for (std::uint64_t i = 0; i < layout.lines_covered(); ++i) {
    const Line line{first.number + i};
    if (const Seal* const entry = entries_.find(line)) layout.put(data, line, *entry);
  }
  return data;
}

// ---- Rules 2 to 5 (line_entries.hpp)

bool LineEntries::write(const Write& write, const Prepared&, Completion done) {
  return need(write.line) != EntryNeed::kCommit || publish(done);
}

// Adds the entry, which is all that is written if the data are elsewhere.
void LineEntries::encode(const Write& write, const Prepared&, Encoded& encoded) const {
  if (!encoded.duplicate && need(write.line) == EntryNeed::kLater) return;
  const Line entries = layout().line_of(write.line);
  LineData data = contents(entries);
  if (sealed_) layout().put(data, write.line, encoded.seal);
  encoded.metadata.push_back({entries, data});
  add_nodes(entries, data, encoded.metadata);
}

// Adds the tree's nodes as they are when the line of entries has these contents.
void LineEntries::add_nodes(Line entries, const LineData& data,
                            std::vector<Encoded::Metadata>& metadata) const {
  if (!seals_.persist_nodes) return;
  if (!sealed_) {
    for (std::uint32_t level = 1; level < seals_.tree->levels(); ++level) {
      metadata.push_back({MerkleTree::node_above(leaf_of(entries), level), {}});
    }
    return;
  }
  const bool stale = seals_.faults.tree || seals_.faults.nodes;
  const LineData leaf = layout().leaf(stale ? contents(entries) : data);
  for (const auto& [node, contents] : seals_.tree->nodes_above(leaf_of(entries), leaf)) {
    metadata.push_back({node, contents});
  }
}

std::vector<Encoded::Metadata> LineEntries::metadata(Line entries) const {
  const LineData data = contents(entries);
  std::vector<Encoded::Metadata> metadata{{entries, data}};
  add_nodes(entries, data, metadata);
  return metadata;
}

void LineEntries::sent(const Write&, const Encoded& encoded) {
  counter_ = std::max(counter_, encoded.seal.counter);
}

void LineEntries::accepted(const Write& write, const Encoded& encoded) {
  const Line line = write.line;
  const Seal& entry = encoded.seal;
  const Line entries = layout().line_of(line);
  const bool is_stale = seals_.faults.tree || encoded.stale_hashes;
  const LineData stale = is_stale ? contents(entries) : LineData{};
  if (sealed_ || seals_.known_of_others) keep(line, entry, encoded.duplicate);
  const bool later = encoded.metadata.empty();
  cached(entries, later);
  if (later) return deferred_.deferred(entries);
  ++statistics_.written;
  cache_.mark_clean(entries);
  persistent(entries, is_stale ? stale : contents(entries));
}

void LineEntries::keep(Line line, const Seal& entry, bool duplicate) {
  Seal* const known = entries_.find(line);
  (known != nullptr ? *known : entries_.insert(line)) = entry;
  if (duplicate) return;
  Seal* newest = seals_at_.find(entry.place);
  if (newest == nullptr) newest = &(seals_at_.insert(entry.place) = {.place = entry.place});
  Seal* before = before_.find({entry.counter});
  if (before == nullptr) before = &before_.insert({entry.counter});
  *before = std::exchange(*newest, entry);
}

void LineEntries::written_back(std::uint64_t entries, Time now) {
  ++statistics_.written;
  persistent({entries}, contents({entries}));
  if (seals_.verifier != nullptr) seals_.verifier->entries_written_back({entries});
  deferred_.written_back(now);
}

void LineEntries::persistent(Line entries, const LineData& contents) {
  if (!sealed_ || seals_.tree == nullptr || seals_.faults.root) return;
  seals_.tree->update(leaf_of(entries), layout().leaf(contents));
}

std::optional<LineData> LineEntries::evicted(Line line, const LineData& data) const {
  const EntryNeed need = this->need(line);
  if (need == EntryNeed::kLater) return unreadable_line();
  if (need == EntryNeed::kCommit && !deferred_.published()) return {};
  return data;
}

void LineEntries::dropped(const Write&, const Encoded& encoded, bool accepted) {
  if (!accepted || encoded.duplicate) return;
  const Seal* const found = before_.find({encoded.seal.counter});
  if (found == nullptr) return;
  const Seal dropped = *found;
  before_.erase({encoded.seal.counter});
  Seal& newest = *seals_at_.find(encoded.seal.place);
  if (newest == encoded.seal) newest = dropped;
  before_.for_each([&](Counter, Seal& older) {
    if (older == encoded.seal) older = dropped;
  });
}

void LineEntries::written(const Write&, const Encoded& encoded) {
  if (before_.find({encoded.seal.counter}) != nullptr) before_.erase({encoded.seal.counter});
}

std::unique_ptr<ImageDecoder> LineEntries::decoder() const {
  ImageKeys keys{.cipher = seals_.cipher,
                 .authenticator = seals_.authenticator,
                 .macs_have_address = !seals_.faults.address,
                 .placements = seals_.placements,
                 .entries_behind = [this] { return !deferred_.published(); }};
  if (MerkleTree* const tree = seals_.tree) {
    keys.tree_levels = tree->levels();
    keys.roots = [tree]() -> const MerkleTree::Roots& { return tree->roots(); };
    keys.nodes_persisted = seals_.persist_nodes;
  }
  return std::make_unique<SealedImage>(layout(), keys);
}

void LineEntries::add_registers(SurvivingRegisters& registers) const {
  registers.write_counter = counter_;
  if (MerkleTree* const tree = seals_.tree) {
    registers.tree = {.levels = tree->levels(), .roots = tree->roots()};
    registers.nodes_persisted = seals_.persist_nodes;
  }
}

void LineEntries::statistics(StatisticsCollector& collector) const {
  collector.group("counter_cache", cache_.statistics());
  collector.group("metadata", statistics_);
  if (defers_) collector.group("deferred_entries", deferred_.statistics());
}

}  // namespace pmemsim
