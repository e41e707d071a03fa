// The values that were stored last: PMWeaver's store history buffer (V-A2, Figure 14b).
//
//   1  An entry is a store, with the path before it (V-A2: "track n most recent stores"; "records
//      the current PC-path in the same entry").
//   2  The buffer is set-associative, "indexed/tagged by the data values". A store is found by the
//      first and the second 4-byte chunk of its value, and by the line whose address the 8-byte
//      word is. [Open: how an entry has three tags. Each kind of tag has its own sets here, with a
//      way for each entry.]
//   3  A new store displaces the oldest one of its set, for each kind of tag.
//   4  If several entries match, the oldest counts (V-B1: "the one with a lower timestamp value").
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
  static StoreHistory queue(std::size_t stores) { return StoreHistory(stores, stores, stores); }

  void add(std::span<const std::byte> value, std::uint64_t site, std::uint64_t path) {
    ++now_;
    for (std::size_t at = 0; at + kChunkBytes <= value.size(); at += kChunkBytes) {
      const auto offset = static_cast<std::uint32_t>(at);
      const std::uint64_t chunk = load<std::uint32_t>(&value[at]);
      put(at % kWordBytes == 0 ? kFirstChunk : kSecondChunk, {chunk, now_, site, path, offset});
      if (at % kWordBytes != 0 || at + kWordBytes > value.size()) continue;
      const Line line = Line::of(load<std::uint64_t>(&value[at]));
      put(kAddress, {line.number, now_, site, path, offset});
    }
  }

  // Returns the oldest store of this chunk, or of an address within this line; nullptr: none.
  const Entry* find_chunk(std::uint32_t chunk) {
    const Entry* const first = oldest(kFirstChunk, chunk);
    const Entry* const second = oldest(kSecondChunk, chunk);
    const bool take_second = second != nullptr && (first == nullptr || second->when < first->when);
    return found(take_second ? second : first);
  }
  const Entry* find_address(Line line) { return found(oldest(kAddress, line.number)); }
  // Visits all entries that may be addresses, as (entry, line).
  template <class Visitor>
  void addresses(Visitor visit) const {
    for (const Entry& entry : tags_[kAddress].entries) {
      if (entry.when != 0 && now_ - entry.when < stores_) visit(entry, Line{entry.key});
    }
  }
  // Removes the entries of a store.
  void forget(std::uint64_t when) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      for (Entry& entry : tags_[kind].entries) {
        if (entry.when != when) continue;
        entry.when = 0;
        if (kind == kFirstChunk) --used_;
      }
    }
  }
  bool is_queue() const { return stores_ != kNoLimit; }
  const StructureUse& use() const { return use_; }

 private:
  static constexpr std::uint64_t kNoLimit = UINT64_MAX;
  // The kinds of tags of a store.
  enum Kind : std::uint8_t { kFirstChunk, kSecondChunk, kAddress, kKinds };
  struct Tags {
    std::vector<Entry> entries;
    std::vector<std::size_t> next;  // index of each set's oldest entry
  };

  StoreHistory(std::size_t entries, std::size_t ways, std::uint64_t stores)
      : ways_(ways), stores_(stores) {
    for (Tags& tags : tags_) {
      tags.entries.resize(entries);
      tags.next.resize(entries / ways);
    }
  }

  template <class Integer>
  static Integer load(const std::byte* from) {
    Integer value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  static std::size_t set_of(const Tags& tags, std::uint64_t key) {
    return tags.next.size() == 1 ? 0 : mix(key) % tags.next.size();
  }
  // Replaces a set's oldest entry, which is the one that was inserted first.
  void put(Kind kind, const Entry& entry) {
    Tags& tags = tags_[kind];
    const std::size_t set = set_of(tags, entry.key);
    std::size_t& next = tags.next[set];
    Entry& place = tags.entries[set * ways_ + next];
    if (kind == kFirstChunk) count_store(place);
    place = entry;
    next = next + 1 == ways_ ? 0 : next + 1;
  }
  // Counts a store that takes this place. Every recorded store has a first chunk.
  void count_store(const Entry& place) {
    if (place.when == 0) {
      use_.filled(++used_);
    } else {
      ++use_.displaced;
    }
  }
  const Entry* found(const Entry* entry) {
    use_.hits += entry != nullptr;
    return entry;
  }
  const Entry* oldest(Kind kind, std::uint64_t key) const {
    const Tags& tags = tags_[kind];
    const Entry* const set = &tags.entries[set_of(tags, key) * ways_];
    const Entry* found = nullptr;
    for (const Entry* at = set; at != set + ways_; ++at) {
      if (at->when == 0 || at->key != key || now_ - at->when >= stores_) continue;
      if (found == nullptr || at->when < found->when) found = at;
    }
    return found;
  }

  std::size_t ways_;
  std::uint64_t stores_;  // number of latest stores that count
  std::array<Tags, kKinds> tags_;
  std::uint64_t now_ = 0;
  std::uint64_t used_ = 0;
  StructureUse use_;
};

}  // namespace pmemsim
