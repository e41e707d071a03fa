#include "pmemsim/backend/line_entries.hpp"

#include <cstring>

#include "pmemsim/backend/backend.hpp"
#include "pmemsim/backend/sealed_image.hpp"

namespace pmemsim {

// ---- Rule 1

std::size_t EntryLayout::offset(Line line) const {
  return line.number % lines_covered() * (kLineBytes / lines_covered());
}

Seal EntryLayout::get(const LineData& entries, Line line) const {
  constexpr std::uint64_t kCounters = (std::uint64_t{1} << kCounterBits) - 1;
  std::uint64_t word = 0;
  std::memcpy(&word, entries.data() + offset(line), sizeof word);
  Seal entry{.place = {line.number ^ word >> kCounterBits}, .counter = word & kCounters};
  if (with_macs_) {
    std::memcpy(&entry.mac, entries.data() + offset(line) + sizeof word, sizeof word);
  }
  return entry;
}

void EntryLayout::put(LineData& entries, Line line, const Seal& entry) const {
  const std::uint64_t word = (line.number ^ entry.place.number) << kCounterBits | entry.counter;
  std::memcpy(entries.data() + offset(line), &word, sizeof word);
  if (with_macs_) {
    std::memcpy(entries.data() + offset(line) + sizeof word, &entry.mac, sizeof word);
  }
}

LineData EntryLayout::leaf(const LineData& entries) const {
  LineData leaf{};
  for (std::uint64_t i = 0; i < lines_covered(); ++i) {
    std::memcpy(leaf.data() + i * sizeof(std::uint64_t), entries.data() + offset({i}),
                sizeof(std::uint64_t));
  }
  return leaf;
}

std::uint64_t mac_of(const LineHash& authenticator, Line place, std::uint64_t counter,
                     const LineData& data) {
  const std::array<std::uint64_t, 2> which{place.number, counter};
  return authenticator.of(std::as_bytes(std::span(which)), data);
}

void LineEntries::connect(EventQueue&, const Memory&, Backend& backend) { backend_ = &backend; }

std::optional<Line> LineEntries::look_up_entry(Line line) {
  const Line entries = layout().line_of(line);
  if (cache_.look_up(entries, false).hit) return {};
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
  const EntryLayout layout = this->layout();
  const Line first = layout.first_covered(entries);
  LineData data{};
  for (std::uint64_t i = 0; i < layout.lines_covered(); ++i) {
    const Line line{first.number + i};
    if (const Seal* const entry = entries_.find(line)) layout.put(data, line, *entry);
  }
  return data;
}

// ---- Rules 2 to 5

void LineEntries::encode(const Write& write, const Prepared&, Encoded& encoded) const {
  const Line entries = layout().line_of(write.line);
  LineData data = contents(entries);
  layout().put(data, write.line, encoded.seal);
  encoded.metadata.push_back({entries, data});
}

void LineEntries::sent(const Write&, const Encoded& encoded) {
  counter_ = std::max(counter_, encoded.seal.counter);
}

void LineEntries::accepted(const Write& write, const Encoded& encoded) {
  const Line line = write.line;
  const Seal& entry = encoded.seal;
  const Line entries = layout().line_of(line);
  const LineData stale = seals_.defects.tree ? contents(entries) : LineData{};
  Seal* const known = entries_.find(line);
  (known != nullptr ? *known : entries_.insert(line)) = entry;
  if (!encoded.elsewhere) {
    Seal* newest = seals_at_.find(entry.place);
    if (newest == nullptr) newest = &(seals_at_.insert(entry.place) = {.place = entry.place});
    before_[entry.counter] = std::exchange(*newest, entry);
  }
  cache_.look_up(entries, false);
  if (seals_.tree == nullptr || seals_.defects.root) return;
  const LineData leaf = seals_.defects.tree ? stale : contents(entries);
  seals_.tree->update(layout().leaf_of(line), layout().leaf(leaf));
}

void LineEntries::dropped(const Write&, const Encoded& encoded, bool accepted) {
  if (!accepted || encoded.elsewhere) return;
  const auto dropped = before_.extract(encoded.seal.counter);
  if (dropped.empty()) return;
  Seal& newest = *seals_at_.find(encoded.seal.place);
  if (newest == encoded.seal) newest = dropped.mapped();
  for (auto& [_, older] : before_) {
    if (older == encoded.seal) older = dropped.mapped();
  }
}

void LineEntries::written(const Write&, const Encoded& encoded) {
  before_.erase(encoded.seal.counter);
}

std::unique_ptr<ImageDecoder> LineEntries::decoder() const {
  ImageKeys keys{.cipher = seals_.cipher,
                 .authenticator = seals_.authenticator,
                 .macs_have_address = !seals_.defects.address,
                 .keeper = seals_.keeper};
  if (MerkleTree* const tree = seals_.tree) {
    keys.tree_levels = tree->levels();
    keys.roots = [tree]() -> const MerkleTree::Roots& { return tree->roots(); };
  }
  return std::make_unique<SealedImage>(layout(), keys);
}

void LineEntries::add_registers(SurvivingRegisters& registers) const {
  registers.write_counter = counter_;
  if (MerkleTree* const tree = seals_.tree) {
    registers.tree = {.levels = tree->levels(), .roots = tree->roots()};
  }
}

void LineEntries::statistics(StatisticsCollector& collector) const {
  collector.group("counter_cache", cache_.statistics());
}

}  // namespace pmemsim
