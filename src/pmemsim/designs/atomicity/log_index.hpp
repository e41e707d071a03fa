// An index of the locations of sequential logs' headers in an image, by core and region. It equals
// the result of a scan of all rings, and is updated line by line. It speeds up the recovery of many
// images that differ by a few lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/designs/atomicity/log_record.hpp"

namespace pmemsim {

// Returns the header line of the record that a line of a sequential log belongs to.
inline Line header_of(Line line) {
  return {line.number - (line.number - kLogBase / kLineBytes) % kRecordLines};
}

class LogIndex {
 public:
  // Updates the index: the image's line now holds these data.
  void changed(Line line, const LineData& data) {
    if (line.address() < kLogBase || line != header_of(line)) return;
    const LogHeader header = LogHeader::of(data);
    std::optional<Key> key;
    if (header.valid != 0) key = Key{header.core, header.region};
    const auto known = keys_.find(line.number);
    if (known != keys_.end()) {
      if (key == known->second) return;
      const auto places = places_.find(known->second);
      std::erase(places->second, line);
      if (places->second.empty()) places_.erase(places);
      keys_.erase(known);
    }
    if (!key) return;
    keys_.emplace(line.number, *key);
    places_[*key].push_back(line);
  }

  // Returns core and region of the record whose header is there; nothing if none is valid.
  std::optional<std::pair<CoreId, std::uint64_t>> region_at(Line place) const {
    const auto known = keys_.find(place.number);
    if (known == keys_.end()) return {};
    return known->second;
  }

  // Calls visit(place) for the locations of all headers of the core's regions from `first` to
  // `last`.
  template <class Visit>
  void find(CoreId core, std::uint64_t first, std::uint64_t last, Visit&& visit) const {
    for (auto at = places_.lower_bound({core, first});
         at != places_.end() && at->first <= Key{core, last}; ++at) {
      for (const Line place : at->second) visit(place);
    }
  }

 private:
  using Key = std::pair<CoreId, std::uint64_t>;
  std::unordered_map<std::uint64_t, Key> keys_;  // by the header's line
  std::map<Key, std::vector<Line>> places_;
};

}  // namespace pmemsim
