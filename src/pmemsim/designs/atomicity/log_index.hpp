// Where the headers of sequential logs stand in an image, by core and region: what a scan of all
// rings would find, kept up to date line by line. For whoever recovers many images that differ by
// a few lines.
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

// Of the record that a line of a sequential log belongs to.
inline Line header_of(Line line) {
  return {line.number - (line.number - kLogBase / kLineBytes) % kRecordLines};
}

class LogIndex {
 public:
  // The image's line holds that now.
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

  // Core and region of the record whose header stands there; nothing if none is valid.
  std::optional<std::pair<CoreId, std::uint64_t>> region_at(Line place) const {
    const auto known = keys_.find(place.number);
    if (known == keys_.end()) return {};
    return known->second;
  }

  // Calls visit(place) for the places of all headers of the core's regions from `first` to `last`.
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
