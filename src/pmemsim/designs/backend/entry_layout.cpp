#include "pmemsim/designs/backend/entry_layout.hpp"

#include <array>
#include <cstring>
#include <span>

namespace pmemsim {

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

}  // namespace pmemsim
