// Predictions that wait for values: PMWeaver's pending prediction table (V-B2, Figure 15).
//
//   1  It has two levels: the index generator finds, by the instruction, the predictions that wait
//      for it; a pending prediction collects the values.
//   2  A store fills all that waits for its instruction, the first time that it comes. [Open]
//   3  What is zero, or isn't predicted, is filled from the beginning. Of a pattern whose data
//      aren't to be trusted the address alone is predicted (V-C1).
//   4  When all is filled, the prediction is made, and leaves.
//   5  What is predicted by its difference from the path's last write, since no store tells it, is
//      filled from the beginning, too (value_deltas.hpp).
//   6  While all pending predictions are taken, a new one takes the oldest one's place; while the
//      index generator is full, a new instruction takes the place of the one that came first. What
//      waits for that will never be filled. [Open; the latter is the artifact's rule]
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "pmemsim/designs/precompute/prediction_table.hpp"
#include "pmemsim/designs/precompute/structure_use.hpp"
#include "pmemsim/designs/precompute/write_pattern.hpp"

namespace pmemsim {

// A write that is expected, as far as stores have told.
struct PredictedWrite {
  std::uint64_t path = 0;  // of the pattern
  Line line;
  std::array<std::uint32_t, kChunksALine> chunks{};
  ChunkMask known = 0;  // the chunks that the pattern has stored
  bool with_data = false;
  // The line isn't that, but the one whose address it has at this word (next_pointers.hpp).
  std::optional<std::uint8_t> next_pointer{};
};

class PendingPredictions {
 public:
  PendingPredictions(std::size_t predictions, std::size_t sites)
      : most_(predictions), most_sites_(sites) {}

  // Calls made(PredictedWrite) where deltas have told all of it.
  template <class Made>
  void open(const PredictionTable::Entry& entry, Made made) {
    if (pending_.size() == most_) drop_oldest();
    Pending& added = pending_.emplace_back();
    added.number = ++numbers_;
    added.pattern = entry.pattern;
    added.write.path = entry.path;
    added.write.with_data = entry.predicts_data();
    added.write.next_pointer = entry.pattern.next_pointer;
    if (added.write.with_data) {
      added.waits_for = entry.pattern.from_stores;
      added.write.known = entry.pattern.from_stores | entry.pattern.zero;
    }
    if (entry.deltas.any()) add_deltas(added, entry);
    if (added.waits_for_address) {
      wait_for(entry.pattern.address.site, added.number);
    }
    for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
      if ((added.waits_for >> chunk & 1) == 0) continue;
      wait_for(entry.pattern.chunks[chunk].site, added.number);
    }
    predictions_.filled(pending_.size());
    if (!added.has_all()) return;
    ++predictions_.hits;
    const PredictedWrite write = added.write;
    pending_.pop_back();
    made(write);
  }

  // Calls made(PredictedWrite) for each prediction that has all it needs now.
  template <class Made>
  void stored(std::uint64_t site, std::span<const std::byte> value, Made made) {
    for (std::size_t i = 0; i < waiting_.size();) {
      if (waiting_[i].site != site) {
        ++i;
        continue;
      }
      ++index_.hits;
      const std::uint64_t number = waiting_[i].number;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      const auto found = std::ranges::find(pending_, number, &Pending::number);
      if (found == pending_.end() || !fill(*found, site, value)) continue;
      ++predictions_.hits;
      const PredictedWrite write = found->write;
      pending_.erase(found);
      made(write);
    }
  }

  void clear() {
    pending_.clear();
    waiting_.clear();
  }
  std::size_t size() const { return pending_.size(); }
  const StructureUse& predictions() const { return predictions_; }
  const StructureUse& index() const { return index_; }

 private:
  struct Pending {
    std::uint64_t number = 0;
    WritePattern pattern;
    PredictedWrite write;
    ChunkMask waits_for = 0;
    bool waits_for_address = true;
    bool has_all() const { return !waits_for_address && waits_for == 0; }
  };
  struct Waiting {
    std::uint64_t site, number;
  };

  void wait_for(std::uint64_t site, std::uint64_t number) {
    const auto there = [&](const Waiting& one) { return one.site == site && one.number == number; };
    if (std::ranges::any_of(waiting_, there)) return;
    if (waiting_.size() == most_sites_) {
      ++index_.displaced;
      waiting_.erase(waiting_.begin());
    }
    waiting_.push_back({site, number});
    index_.filled(waiting_.size());
  }

  static void add_deltas(Pending& pending, const PredictionTable::Entry& entry) {
    PredictedWrite& write = pending.write;
    if (entry.deltas.address) {
      write.line = {entry.last.line.number + entry.deltas.line};
      pending.waits_for_address = false;
    }
    if (!write.with_data) return;
    write.known |= entry.deltas.chunks;
    for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
      if ((entry.deltas.chunks >> chunk & 1) == 0) continue;
      write.chunks[chunk] = entry.last.chunks[chunk] + entry.deltas.values[chunk];
    }
  }

  void drop_oldest() {
    ++predictions_.displaced;
    std::erase_if(waiting_,
                  [&](const Waiting& one) { return one.number == pending_.front().number; });
    pending_.erase(pending_.begin());
  }

  // Whether it has all now.
  static bool fill(Pending& pending, std::uint64_t site, std::span<const std::byte> value) {
    const ValueSource& address = pending.pattern.address;
    if (pending.waits_for_address && address.site == site &&
        address.offset + sizeof(std::uint64_t) <= value.size()) {
      std::uint64_t word;
      std::memcpy(&word, &value[address.offset], sizeof word);
      pending.write.line = Line::of(word);
      pending.waits_for_address = false;
    }
    for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
      const ValueSource& source = pending.pattern.chunks[chunk];
      if ((pending.waits_for >> chunk & 1) == 0 || source.site != site) continue;
      if (source.offset + sizeof(std::uint32_t) > value.size()) continue;
      std::memcpy(&pending.write.chunks[chunk], &value[source.offset], sizeof(std::uint32_t));
      pending.waits_for &= static_cast<ChunkMask>(~(1u << chunk));
    }
    return pending.has_all();
  }

  std::size_t most_, most_sites_;
  std::vector<Pending> pending_;  // the oldest first
  std::vector<Waiting> waiting_;  // the index generator, the oldest first
  std::uint64_t numbers_ = 0;
  StructureUse predictions_, index_;
};

}  // namespace pmemsim
