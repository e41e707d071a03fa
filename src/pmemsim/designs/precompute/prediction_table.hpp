// The learnt patterns: PMWeaver's prediction table (V-B1, Figure 14c).
//
//   1  The table is set-associative, indexed by the hash of the path before the oldest store that a
//      pattern needs.
//   2  An entry has a confidence in its address and one in its data (V-C1). [Open: 3 bits each, 6
//      at first; a part is predicted while its confidence is above 1. The artifact's constants.]
//   3  A new pattern displaces the one with the lowest confidence in its set; of several, the
//      oldest. [Open]
//   4  A path may already have a pattern when another pattern is learnt for it. The new pattern
//      replaces the old one if either confidence is 1 or less. Otherwise the confidence in the data
//      falls by one, and zero chunks are learnt again. [Open; the artifact's rule. The same pattern
//      again changes nothing.]
//   5  A right address raises the confidence in the address; right data raise that in the data.
//      Wrong data lower the confidence in the data. A prediction that no write has used lowers
//      both. [Open: the last]
//
// The artifact's table is unlimited, and predicts whatever the confidence. A pattern stays until
// more than 8 other patterns have been learnt without a write that it had predicted. When data were
// wrong, the table records chunks that were written with the same value as the last time they were
// wrong. From then on it predicts that value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "pmemsim/common/mix.hpp"
#include "pmemsim/designs/precompute/structure_use.hpp"
#include "pmemsim/designs/precompute/value_deltas.hpp"
#include "pmemsim/designs/precompute/write_pattern.hpp"

namespace pmemsim {

class PredictionTable {
 public:
  static constexpr std::uint32_t kMost = 7, kFirst = 6, kPredicts = 2;

  struct Constant {
    std::uint32_t value = 0;
    std::uint32_t times = 0;
  };
  struct Entry {
    std::uint64_t path = 0;
    std::uint64_t learnt = 0;  // order of learning, from 1 on; 0: empty
    std::uint32_t address_confidence = 0, data_confidence = 0;
    WritePattern pattern{};
    // Values that no store provides, where these are predicted (value_deltas.hpp).
    ValueDeltas deltas{};
    LastWrite last{};
    // State of the artifact's variant.
    bool was_right = false;
    std::array<Constant, kChunksALine> constants{};

    bool predicts_address() const { return address_confidence >= kPredicts; }
    bool predicts_data() const { return data_confidence >= kPredicts; }
  };
  enum class Learnt : std::uint8_t { kNew, kReplaced, kConfirmed, kKept };

  PredictionTable(std::size_t entries, std::size_t ways) : ways_(ways), entries_(entries) {}
  static PredictionTable as_artifact() { return {0, kNoLimit}; }

  const Entry* find(std::uint64_t path) const {
    const std::span<const Entry> set = set_of(path);
    const auto found = std::ranges::find_if(
        set, [&](const Entry& entry) { return entry.learnt != 0 && entry.path == path; });
    return found == set.end() ? nullptr : &*found;
  }

  // `whole`: the pattern and the deltas provide all data; otherwise only the address is predicted.
  Learnt learn(std::uint64_t path, const WritePattern& pattern, bool whole,
               const ValueDeltas& deltas = {}) {
    Entry* const known = known_by(path);
    if (has_no_limit()) return learn_as_artifact(known, path, pattern);
    const std::uint32_t data_confidence = whole ? kFirst : 0;
    if (known == nullptr) {
      *slot_for(path) = entry(path, pattern, data_confidence, deltas);
      return Learnt::kNew;
    }
    if (known->address_confidence < kPredicts || known->data_confidence < kPredicts) {
      *known = entry(path, pattern, data_confidence, deltas);
      return Learnt::kReplaced;
    }
    if (known->pattern == pattern && known->deltas == deltas) return Learnt::kConfirmed;
    --known->data_confidence;
    known->pattern.zero = pattern.zero;
    return Learnt::kKept;
  }
  // Records the last write of a path, from which deltas count. If the path has no learnt pattern,
  // it gets an entry that only records this write.
  void record_write(std::uint64_t path, const LastWrite& write) {
    Entry* known = known_by(path);
    if (known == nullptr) *(known = slot_for(path)) = {.path = path, .learnt = ++now_};
    known->last = write;
  }

  // Counts a prediction that the pattern starts.
  void triggered() { ++use_.hits; }
  const StructureUse& use() const { return use_; }

  void count_address_right(std::uint64_t path) { change(path, 1, 0); }
  void data_right(std::uint64_t path) { change(path, 0, 1); }
  void data_wrong(std::uint64_t path) { change(path, 0, -1); }
  void count_unused(std::uint64_t path) { change(path, -1, -1); }
  // Records the written value of a chunk that was predicted wrongly.
  void record_wrong_chunk(std::uint64_t path, std::size_t chunk, std::uint32_t written) {
    Entry* const entry = known_by(path);
    if (entry == nullptr || !has_no_limit()) return;
    Constant& constant = entry->constants[chunk];
    if (constant.value == written) {
      ++constant.times;
      return;
    }
    constant = {written, constant.times == 0 ? 0 : constant.times - 1};
  }

 private:
  static constexpr std::size_t kNoLimit = SIZE_MAX;
  // Limit for patterns that were never right, in the artifact.
  static constexpr std::uint64_t kMostAge = 8;

  bool has_no_limit() const { return ways_ == kNoLimit; }
  std::span<const Entry> set_of(std::uint64_t path) const {
    if (has_no_limit()) return entries_;
    return std::span(entries_).subspan(mix(path) % (entries_.size() / ways_) * ways_, ways_);
  }
  Entry* known_by(std::uint64_t path) { return const_cast<Entry*>(find(path)); }
  Entry* slot_for(std::uint64_t path) {
    Entry* const entry = victim(path);
    if (entry->learnt == 0) {
      use_.filled(++used_);
    } else {
      ++use_.displaced;
    }
    return entry;
  }
  Entry* victim(std::uint64_t path) {
    const auto trust = [](const Entry& entry) {
      return std::pair(entry.address_confidence + entry.data_confidence, entry.learnt);
    };
    return const_cast<Entry*>(&*std::ranges::min_element(set_of(path), {}, trust));
  }
  Learnt learn_as_artifact(const Entry* known, std::uint64_t path, const WritePattern& pattern) {
    if (known != nullptr) return known->pattern == pattern ? Learnt::kConfirmed : Learnt::kKept;
    use_.displaced += std::erase_if(entries_, [&](const Entry& entry) {
      return !entry.was_right && now_ - entry.learnt >= kMostAge;
    });
    entries_.push_back(entry(path, pattern, kFirst, {}));
    use_.filled(entries_.size());
    return Learnt::kNew;
  }
  Entry entry(std::uint64_t path, const WritePattern& pattern, std::uint32_t data_confidence,
              const ValueDeltas& deltas) {
    return {.path = path,
            .learnt = ++now_,
            .address_confidence = kFirst,
            .data_confidence = data_confidence,
            .pattern = pattern,
            .deltas = deltas};
  }
  void change(std::uint64_t path, int address, int data) {
    Entry* const entry = known_by(path);
    if (entry == nullptr) return;  // another pattern has displaced it
    entry->was_right |= data > 0;
    if (has_no_limit()) return;
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
  std::uint64_t used_ = 0;
  StructureUse use_;
};

}  // namespace pmemsim
