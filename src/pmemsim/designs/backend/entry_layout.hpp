// The entry of a line, and where entries lie in PM (line_entries.hpp, rule 1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/line_crypto.hpp"

namespace pmemsim {

// A line's entry: the place of its data, and the counter and MAC that they are sealed with.
struct Seal {
  Line place;
  std::uint64_t counter = 0;
  std::uint64_t mac = 0;
  bool operator==(const Seal&) const = default;
};

// The location of entries in PM, and the bits of an entry.
class EntryLayout {
 public:
  explicit EntryLayout(bool with_macs) : with_macs_(with_macs) {}
  bool with_macs() const { return with_macs_; }
  std::uint64_t lines_covered() const { return with_macs_ ? 4 : 8; }
  std::uint64_t leaf_of(Line line) const { return line.number / lines_covered(); }
  Line line_of(Line line) const { return {kEntries + leaf_of(line)}; }
  bool holds_entries(Line place) const {
    return place.number >= kEntries && place.number < 2 * kEntries;
  }
  // True for places behind all entries. Recovery rebuilds the operations' metadata there from
  // entries and data.
  bool holds_rebuilt_metadata(Line place) const { return place.number >= 2 * kEntries; }
  // Returns the first line that has its entry there.
  Line first_covered(Line entries) const { return {(entries.number - kEntries) * lines_covered()}; }
  Seal get(const LineData& entries, Line line) const;
  void put(LineData& entries, Line line, const Seal& entry) const;
  // Returns the contents of a leaf of the tree: counters and places (Janus, 4.2).
  LineData leaf(const LineData& entries) const;

 private:
  // Number of bits of a counter, which shares a word with a place within 16 GiB around the line.
  static constexpr unsigned kCounterBits = 36;
  static constexpr std::uint64_t kEntries = std::uint64_t{1} << 53;  // first line number of entries
  std::size_t offset(Line line) const;

  const bool with_macs_;
};

// The counter that seals the lines that PM contains when a program starts.
inline constexpr std::uint64_t kInitialCounter = 1;

// Returns the MAC of ciphertext, address and counter.
std::uint64_t mac_of(const LineHash& authenticator, Line place, std::uint64_t counter,
                     const LineData& data);

}  // namespace pmemsim
