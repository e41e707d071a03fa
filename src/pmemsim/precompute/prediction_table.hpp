// What was learnt: PMWeaver's prediction table (V-B1, Figure 14c).
//
//   1  It is set-associative, by the hash of the path before the oldest store that a pattern needs.
//   2  An entry has a confidence in its address and one in its data (V-C1). [Open: 3 bits each, 6
//   at
//      first; a part is predicted while its confidence is above 1. The artifact's constants.]
//   3  A new pattern takes the place of the one with the lowest confidence in its set, of several
//      the oldest. [Open]
//   4  A pattern learnt for a path that has one already takes its place if either confidence is 1
//   or
//      less; else the confidence in the data falls by one, and what is zero is learnt anew. [Open;
//      the artifact's rule. The same pattern again changes nothing.]
//   5  An address that was right raises its confidence, data that were right theirs; wrong data
//      lower theirs; a prediction that nobody has used lowers both. [Open: the last]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/core/mix.hpp"
#include "pmemsim/precompute/write_pattern.hpp"

namespace pmemsim {

class PredictionTable {
 public:
  static constexpr std::uint32_t kMost = 7, kFirst = 6, kPredicts = 2;

  struct Entry {
    std::uint64_t path = 0;
    std::uint64_t learnt = 0;  // when, as a number from 1 on; 0: empty
    std::uint32_t address_confidence = 0, data_confidence = 0;
    WritePattern pattern;

    bool predicts_address() const { return address_confidence >= kPredicts; }
    bool predicts_data() const { return data_confidence >= kPredicts; }
  };
  enum class Learnt : std::uint8_t { kNew, kReplaced, kConfirmed, kKept };

  PredictionTable(std::size_t entries, std::size_t ways) : ways_(ways), entries_(entries) {}

  const Entry* find(std::uint64_t path) const {
    const Entry* const set = &entries_[set_of(path)];
    for (const Entry* at = set; at != set + ways_; ++at) {
      if (at->learnt != 0 && at->path == path) return at;
    }
    return nullptr;
  }

  // `whole`: the pattern has all data; else its address alone is to be predicted.
  Learnt learn(std::uint64_t path, const WritePattern& pattern, bool whole) {
    Entry* const known = known_by(path);
    if (known == nullptr) {
      put(victim(path), path, pattern, whole);
      return Learnt::kNew;
    }
    if (known->address_confidence < kPredicts || known->data_confidence < kPredicts) {
      put(known, path, pattern, whole);
      return Learnt::kReplaced;
    }
    if (known->pattern == pattern) return Learnt::kConfirmed;
    --known->data_confidence;
    known->pattern.zero = pattern.zero;
    return Learnt::kKept;
  }

  void address_right(std::uint64_t path) { change(path, 1, 0); }
  void data_right(std::uint64_t path) { change(path, 0, 1); }
  void data_wrong(std::uint64_t path) { change(path, 0, -1); }
  void unused(std::uint64_t path) { change(path, -1, -1); }

 private:
  std::size_t set_of(std::uint64_t path) const {
    return mix(path) % (entries_.size() / ways_) * ways_;
  }
  Entry* known_by(std::uint64_t path) { return const_cast<Entry*>(find(path)); }
  Entry* victim(std::uint64_t path) {
    Entry* const set = &entries_[set_of(path)];
    Entry* lowest = set;
    for (Entry* at = set + 1; at != set + ways_; ++at) {
      const auto confidence = [](const Entry& entry) {
        return entry.address_confidence + entry.data_confidence;
      };
      if (confidence(*at) < confidence(*lowest) ||
          (confidence(*at) == confidence(*lowest) && at->learnt < lowest->learnt)) {
        lowest = at;
      }
    }
    return lowest;
  }
  void put(Entry* entry, std::uint64_t path, const WritePattern& pattern, bool whole) {
    *entry = {path, ++now_, kFirst, whole ? kFirst : 0, pattern};
  }
  void change(std::uint64_t path, int address, int data) {
    Entry* const entry = known_by(path);
    if (entry == nullptr) return;  // another pattern has taken its place
    entry->address_confidence = changed(entry->address_confidence, address);
    entry->data_confidence = changed(entry->data_confidence, data);
  }
  static std::uint32_t changed(std::uint32_t confidence, int by) {
    if (by > 0) return confidence == kMost ? kMost : confidence + 1;
    return by < 0 && confidence > 0 ? confidence - 1 : confidence;
  }

  std::size_t ways_;
  std::vector<Entry> entries_;
  std::uint64_t now_ = 0;
};

}  // namespace pmemsim
