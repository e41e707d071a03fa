// Predicts the directions of conditional branches and the targets of indirect ones. Both use the
// same history: one bit for each conditional branch, and four for each indirect one.
#pragma once

#include <cstdint>
#include <vector>

namespace pmemsim {

// The outcomes of the latest branches.
struct BranchHistory {
  void add(std::uint32_t outcome, unsigned bits) {
    older = older << bits | recent >> (64 - bits);
    recent = recent << bits | outcome;
  }
  std::uint64_t recent = 0, older = 0;
};

// A gshare predictor (McFarling, "Combining branch predictors", WRL TN-36, 1993). Two-bit counters
// are indexed by the branch's site and the latest outcomes.
class DirectionPredictor {
 public:
  explicit DirectionPredictor(std::uint32_t index_bits)
      : mask_((1u << index_bits) - 1),
        counters_(((std::size_t{1} << index_bits) + kInByte - 1) / kInByte, kAllWeaklyTaken) {}

  // Trains with the outcome. True if it had been predicted.
  bool predicted(std::uint32_t site, bool taken, BranchHistory& history) {
    const auto [byte, shift] = counter_of(site, history);
    const unsigned counter = *byte >> shift & 3;
    train(byte, shift, counter, taken, history);
    return (counter >= kWeaklyTaken) == taken;
  }
  // Trains with the outcome if it is predicted. Returns false, without any effect, if it isn't.
  bool trained_if_predicted(std::uint32_t site, bool taken, BranchHistory& history) {
    const auto [byte, shift] = counter_of(site, history);
    const unsigned counter = *byte >> shift & 3;
    if ((counter >= kWeaklyTaken) != taken) return false;
    train(byte, shift, counter, taken, history);
    return true;
  }

 private:
  struct Counter {
    std::uint8_t* byte;
    unsigned shift;
  };
  Counter counter_of(std::uint32_t site, const BranchHistory& history) {
    // Sites are dense numbers; the factor spreads them so that neighbours don't share counters.
    const auto recent = static_cast<std::uint32_t>(history.recent);
    const std::uint32_t index = ((site * 0x9E3779B1u >> 8) ^ recent) & mask_;
    return {&counters_[index / kInByte], index % kInByte * 2};
  }
  static void train(std::uint8_t* byte, unsigned shift, unsigned counter, bool taken,
                    BranchHistory& history) {
    if (taken && counter < kStronglyTaken) *byte = static_cast<std::uint8_t>(*byte + (1u << shift));
    if (!taken && counter > 0) *byte = static_cast<std::uint8_t>(*byte - (1u << shift));
    history.add(taken ? 1 : 0, 1);
  }

  static constexpr unsigned kWeaklyTaken = 2, kStronglyTaken = 3;
  // Four counters are in a byte, like in hardware, so that the tables of many cores fit into the
  // host's caches.
  static constexpr unsigned kInByte = 4;
  static constexpr std::uint8_t kAllWeaklyTaken = 0b10101010;
  std::uint32_t mask_;
  std::vector<std::uint8_t> counters_;
};

// An ITTAGE predictor (Seznec and Michaud, "A case for (partially) tagged geometric history length
// branch prediction", JILP 8, 2006, section 5). The first table is indexed by the branch's site
// alone, the others also by geometrically longer parts of the history. The longest part that
// matches predicts.
class TargetPredictor {
 public:
  explicit TargetPredictor(std::uint32_t index_bits);

  // Trains with the target. True if it had been predicted.
  bool predicted(std::uint32_t site, std::uint32_t target, BranchHistory& history);

 private:
  struct Entry {
    std::uint32_t target = 0;
    std::uint16_t tag = 0;
    std::uint8_t confidence = 0;  // 0 to 3
    bool useful = false;          // it was right where a shorter part of the history was wrong
  };
  static constexpr unsigned kTables = 4;

  void allocate(unsigned first, std::uint32_t target);

  const std::uint32_t index_bits_;
  std::vector<Entry> by_site_, by_history_;
  // Entries and tags of the current branch, by table.
  Entry* found_[kTables];
  std::uint16_t tags_[kTables];
};

// A return-address stack of fixed size. A call overwrites the oldest entry of a full one, so that
// the return that belongs to that entry is mispredicted, unless both calls have the same site.
class ReturnStack {
 public:
  explicit ReturnStack(std::uint32_t entries) : entries_(entries), calls_(kDeepest) {}

  void call(std::uint32_t site) {
    top_ = top_ + 1 == entries_.size() ? 0 : top_ + 1;
    entries_[top_] = site;
    calls_[++depth_ % kDeepest] = site;
  }
  // True if a return from the latest call would be predicted.
  bool predicts_return() const {
    return depth_ == 0 || entries_[top_] == calls_[depth_ % kDeepest];
  }
  // Returns from the latest call. True if that was predicted. Returns from calls before the
  // recording count as predicted.
  bool predicted_return() {
    if (depth_ == 0) return true;
    const bool right = entries_[top_] == calls_[depth_-- % kDeepest];
    top_ = top_ == 0 ? static_cast<std::uint32_t>(entries_.size()) - 1 : top_ - 1;
    return right;
  }

  // The number of calls that have not returned. A thread that is rolled back sets it to an earlier
  // one. Entries that were overwritten meanwhile stay so.
  std::uint64_t depth() const { return depth_; }
  void set_depth(std::uint64_t depth) {
    const auto size = static_cast<std::int64_t>(entries_.size());
    const auto moved = static_cast<std::int64_t>(depth - depth_) % size;
    top_ = static_cast<std::uint32_t>((top_ + size + moved) % size);
    depth_ = depth;
  }

 private:
  static constexpr std::uint64_t kDeepest = 4096;  // sites of older calls are lost
  std::vector<std::uint32_t> entries_;
  std::uint32_t top_ = 0;
  std::vector<std::uint32_t> calls_;  // the sites of all calls that have not returned
  std::uint64_t depth_ = 0;
};

}  // namespace pmemsim
