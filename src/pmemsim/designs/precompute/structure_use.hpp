// The use of one of PMWeaver's structures: its largest number of entries, hits, and displaced
// entries.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pmemsim {

struct StructureUse {
  std::uint64_t most = 0;
  std::uint64_t hits = 0;
  std::uint64_t displaced = 0;

  void filled(std::uint64_t entries) { most = std::max(most, entries); }
  // Adds the use of another core's structure.
  StructureUse& operator+=(const StructureUse& other) {
    filled(other.most);
    hits += other.hits;
    displaced += other.displaced;
    return *this;
  }

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("most", most, "entries",
          "Largest number of entries in use at the same time, of a core or of a shared structure");
    visit("hits", hits, "look-ups", "Look-ups that hit, or entries that were completed");
    visit("displaced", displaced, "entries", "Entries displaced by others");
  }
};

}  // namespace pmemsim
