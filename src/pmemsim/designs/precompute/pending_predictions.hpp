// Predictions that wait for values: PMWeaver's pending prediction table (V-B2, Figure 15).
//
//   1  The table has two levels. The index generator finds the predictions that wait for an
//      instruction; a pending prediction collects the values.
//   2  A store fills all predictions that wait for its instruction, at its first execution. [Open]
//      An instruction that provides several values of the line, such as the store of a loop, fills
//      all of them with this one value. The prediction is then wrong. (The artifact does the same.)
//   3  Values that are zero, or aren't predicted, are filled when the prediction is opened. If the
//      confidence in a pattern's data is too low, only the address is predicted (V-C1).
//   4  When all values are filled, the prediction is made, and leaves the table.
//   5  Values that no store provides may be predicted by their difference from the path's last
//      write. They are also filled when the prediction is opened (value_deltas.hpp).
//   6  While all pending predictions are taken, a new one displaces the oldest one. While the index
//      generator is full, a new instruction displaces the one that was inserted first. Values that
//      wait for the displaced instruction are never filled. [Open; the latter is the artifact's
//      rule]
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

// A predicted write, as far as stores have provided its values.
struct PredictedWrite {
  std::uint64_t path = 0;  // path of the pattern
  Line line;
  std::array<std::uint32_t, kChunksALine> chunks{};
  ChunkMask known = 0;  // chunks that the pattern predicts
  bool with_data = false;
  // Word of `line` that has the address of the predicted line, if that isn't `line` itself
  // (next_pointers.hpp).
  std::optional<std::uint8_t> next_pointer{};
  std::optional<Time> address_since{};  // when a store has provided the address
};

class PendingPredictions {
 public:
  PendingPredictions(std::size_t predictions, std::size_t sites)
      : most_(predictions), most_sites_(sites) {}

  // Opens a prediction. Calls made(PredictedWrite) if no store has to provide a value.
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

  // Calls made(PredictedWrite) for each prediction that this store completes. `when`: the time of
  // the store.
  template <class Made>
  void stored(std::uint64_t site, std::span<const std::byte> value, Made made, Time when = {}) {
    for (std::size_t i = 0; i < waiting_.size();) {
      if (waiting_[i].site != site) {
        ++i;
        continue;
      }
      ++index_.hits;
      const std::uint64_t number = waiting_[i].number;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      const auto found = std::ranges::find(pending_, number, &Pending::number);
      if (found == pending_.end() || !fill(*found, site, value, when)) continue;
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

  // Fills the values that this instruction provides. True if the prediction is complete.
  static bool fill(Pending& pending, std::uint64_t site, std::span<const std::byte> value,
                   Time when) {
    const ValueSource& address = pending.pattern.address;
    if (pending.waits_for_address && address.site == site &&
        address.offset + sizeof(std::uint64_t) <= value.size()) {
      std::uint64_t word;
      std::memcpy(&word, &value[address.offset], sizeof word);
      pending.write.line = Line::of(word);
      pending.write.address_since = when;
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
  std::vector<Pending> pending_;  // oldest first
  std::vector<Waiting> waiting_;  // index generator, oldest first
  std::uint64_t numbers_ = 0;
  StructureUse predictions_, index_;
};

}  // namespace pmemsim
