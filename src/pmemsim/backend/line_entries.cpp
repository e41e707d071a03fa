#include "pmemsim/backend/line_entries.hpp"

#include <cstring>

#include "pmemsim/backend/backend.hpp"
#include "pmemsim/backend/sealed_image.hpp"

namespace pmemsim {

// ---- Rule 1

std::size_t EntryLayout::offset(Line line) const {
  return line.number % lines_covered() * (kLineBytes / lines_covered());
}

LineEntry EntryLayout::get(const LineData& entries, Line line) const {
  LineEntry entry;
  std::memcpy(&entry.counter, entries.data() + offset(line), sizeof entry.counter);
  if (with_macs_) {
    std::memcpy(&entry.mac, entries.data() + offset(line) + sizeof entry.counter, sizeof entry.mac);
  }
  return entry;
}

void EntryLayout::put(LineData& entries, Line line, const LineEntry& entry) const {
  std::memcpy(entries.data() + offset(line), &entry.counter, sizeof entry.counter);
  if (with_macs_) {
    std::memcpy(entries.data() + offset(line) + sizeof entry.counter, &entry.mac, sizeof entry.mac);
  }
}

LineData EntryLayout::counters(const LineData& entries) const {
  LineData counters{};
  for (std::uint64_t i = 0; i < lines_covered(); ++i) {
    const std::uint64_t counter = get(entries, {i}).counter;
    std::memcpy(counters.data() + i * sizeof counter, &counter, sizeof counter);
  }
  return counters;
}

std::uint64_t mac_of(const LineHash& authenticator, Line line, std::uint64_t counter,
                     const LineData& data) {
  const std::array<std::uint64_t, 2> which{line.number, counter};
  return authenticator.of(std::as_bytes(std::span(which)), data);
}

void LineEntries::connect(EventQueue&, const Memory&, Backend& backend) { backend_ = &backend; }

std::optional<Line> LineEntries::look_up_entry(Line line) {
  const Line entries = layout().line_of(line);
  if (cache_.look_up(entries, false).hit) return {};
  if (seals_.verifier != nullptr) seals_.verifier->entries_missed(entries);
  return entries;
}

std::uint64_t LineEntries::counter_of_data(Line line) const {
  const std::uint64_t* const counter = counters_of_data_.find(line);
  return counter == nullptr ? 0 : *counter;
}

LineData LineEntries::contents(Line entries) const {
  const EntryLayout layout = this->layout();
  const Line first = layout.first_covered(entries);
  LineData data{};
  for (std::uint64_t i = 0; i < layout.lines_covered(); ++i) {
    const Line line{first.number + i};
    if (const LineEntry* const entry = entries_.find(line)) layout.put(data, line, *entry);
  }
  return data;
}

// ---- Rules 2 to 4

void LineEntries::encode(const Write& write, const Prepared&, Encoded& encoded) const {
  const Line entries = layout().line_of(write.line);
  LineData data = contents(entries);
  layout().put(data, write.line, {encoded.counter, encoded.mac});
  encoded.metadata.push_back({entries, data});
}

void LineEntries::accepted(const Write& write, const Encoded& encoded) {
  const Line line = write.line;
  LineEntry* const entry = entries_.find(line);
  (entry != nullptr ? *entry : entries_.insert(line)) = {encoded.counter, encoded.mac};
  std::uint64_t* counter = counters_of_data_.find(line);
  if (counter == nullptr) counter = &(counters_of_data_.insert(line) = 0);
  before_[encoded.counter] = {line, std::exchange(*counter, encoded.counter)};
  const Line entries = layout().line_of(line);
  cache_.look_up(entries, false);
  if (seals_.tree != nullptr) {
    seals_.tree->update(layout().leaf_of(line), layout().counters(contents(entries)));
  }
}

void LineEntries::dropped(const Write& write, const Encoded& encoded, bool accepted) {
  if (!accepted) return;
  const auto dropped = before_.extract(encoded.counter);
  if (dropped.empty()) return;
  const std::uint64_t before = dropped.mapped().counter;
  std::uint64_t& newest = *counters_of_data_.find(write.line);
  if (newest == encoded.counter) newest = before;
  for (auto& [_, other] : before_) {
    if (other.line == write.line && other.counter == encoded.counter) other.counter = before;
  }
}

void LineEntries::written(const Write&, const Encoded& encoded) { before_.erase(encoded.counter); }

std::unique_ptr<ImageDecoder> LineEntries::decoder() const {
  return std::make_unique<SealedImage>(layout(), seals_);
}

void LineEntries::statistics(StatisticsCollector& collector) const {
  collector.group("counter_cache", cache_.statistics());
}

}  // namespace pmemsim
