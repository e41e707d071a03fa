// The values that were stored last: PMWeaver's store history buffer (V-A2, Figure 14b).
//
//   1  The buffer is set-associative, indexed by value. An entry is a 4-byte chunk of a store's
//      value, or an 8-byte word of it. A word is found by the line whose address it is. [Open: the
//      paper has 4- and 8-byte matches in one buffer. A store of 8 bytes takes three entries here.]
//   2  A new entry displaces the oldest one of its set.
//   3  If several entries match, the oldest counts (V-B1: "the one with a lower timestamp value").
//   4  An entry also has the path before its store.
//
// The artifact has a queue of stores instead, which is searched from the oldest on. Stores found
// for a write-back, whether it was learnt or not, no longer count for others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "pmemsim/common/mix.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/precompute/structure_use.hpp"

namespace pmemsim {

class StoreHistory {
 public:
  static constexpr std::size_t kChunkBytes = 4, kWordBytes = 8;

  struct Entry {
    std::uint64_t key = 0;
    std::uint64_t when = 0;  // number of the store, from 1 on; 0: empty
    std::uint64_t site = 0;
    std::uint64_t path = 0;    // hash of the path before the store
    std::uint32_t offset = 0;  // offset in the store's value
  };

  static StoreHistory by_value(std::size_t entries, std::size_t ways) {
    return StoreHistory(entries, ways, kNoLimit);
  }
  static StoreHistory queue(std::size_t stores) {
    return StoreHistory(stores * kMostEntries, stores * kMostEntries, stores);
  }

  void add(std::span<const std::byte> value, std::uint64_t site, std::uint64_t path) {
    ++now_;
    for (std::size_t at = 0; at + kChunkBytes <= value.size(); at += kChunkBytes) {
      const auto offset = static_cast<std::uint32_t>(at);
      put({chunk_key(load<std::uint32_t>(&value[at])), now_, site, path, offset});
      if (at % kWordBytes != 0 || at + kWordBytes > value.size()) continue;
      put({line_key(Line::of(load<std::uint64_t>(&value[at]))), now_, site, path, offset});
    }
  }

  // Returns the oldest store of this chunk, or of an address within this line; nullptr: none.
  const Entry* find_chunk(std::uint32_t chunk) { return found(oldest(chunk_key(chunk))); }
  const Entry* find_address(Line line) { return found(oldest(line_key(line))); }
  // Visits all entries that may be addresses, as (entry, line).
  template <class Visitor>
  void addresses(Visitor visit) const {
    for (const Entry& entry : entries_) {
      const bool counts = entry.when != 0 && now_ - entry.when < stores_;
      if (counts && (entry.key & kChunk) == 0) visit(entry, Line{entry.key});
    }
  }
  // Removes the entries of a store.
  void forget(std::uint64_t when) {
    for (Entry& entry : entries_) {
      if (entry.when != when) continue;
      entry.when = 0;
      --used_;
    }
  }
  bool is_queue() const { return stores_ != kNoLimit; }
  const StructureUse& use() const { return use_; }

 private:
  static constexpr std::uint64_t kNoLimit = UINT64_MAX;
  static constexpr std::size_t kMostEntries = 3;  // entries of a store

  StoreHistory(std::size_t entries, std::size_t ways, std::uint64_t stores)
      : ways_(ways), stores_(stores), entries_(entries), next_(entries / ways) {}

  // Marks keys of chunks: the numbers of lines have fewer bits.
  static constexpr std::uint64_t kChunk = std::uint64_t{1} << 63;
  static std::uint64_t chunk_key(std::uint32_t chunk) { return kChunk | chunk; }
  static std::uint64_t line_key(Line line) { return line.number; }

  template <class Integer>
  static Integer load(const std::byte* from) {
    Integer value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  std::size_t set_of(std::uint64_t key) const {
    return next_.size() == 1 ? 0 : mix(key) % next_.size();
  }
  // Replaces a set's oldest entry, which is the one that was inserted first.
  void put(const Entry& entry) {
    const std::size_t set = set_of(entry.key);
    std::size_t& next = next_[set];
    Entry& place = entries_[set * ways_ + next];
    if (place.when == 0) {
      use_.filled(++used_);
    } else {
      ++use_.displaced;
    }
    place = entry;
    next = next + 1 == ways_ ? 0 : next + 1;
  }
  const Entry* found(const Entry* entry) {
    use_.hits += entry != nullptr;
    return entry;
  }
  const Entry* oldest(std::uint64_t key) const {
    const Entry* const set = &entries_[set_of(key) * ways_];
    const Entry* found = nullptr;
    for (const Entry* at = set; at != set + ways_; ++at) {
      if (at->when == 0 || at->key != key || now_ - at->when >= stores_) continue;
      if (found == nullptr || at->when < found->when) found = at;
    }
    return found;
  }

  std::size_t ways_;
  std::uint64_t stores_;  // number of latest stores that count
  std::vector<Entry> entries_;
  std::vector<std::size_t> next_;  // index of each set's oldest entry
  std::uint64_t now_ = 0;
  std::uint64_t used_ = 0;
  StructureUse use_;
};

}  // namespace pmemsim
