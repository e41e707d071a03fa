#include "pmemsim/machine/cpu/branch_predictor.hpp"

#include <array>

namespace pmemsim {
namespace {

constexpr std::uint8_t kMostConfident = 3;
constexpr unsigned kTargetBits = 4;  // bits of a target in the history
constexpr unsigned kMoreBySite = 3;  // logarithm of the first table's size over the others'
// Bits of the history by which each table is indexed.
constexpr std::array<unsigned, 4> kHistoryBits{0, 8, 32, 128};

std::uint64_t mixed(std::uint64_t bits) {
  bits *= 0x9E3779B97F4A7C15;
  return bits ^ bits >> 32;
}

std::uint64_t hash_of(std::uint32_t site, const BranchHistory& history, unsigned bits) {
  std::uint64_t hash = mixed(site + (std::uint64_t{bits} << 32));
  if (bits > 64) hash = mixed(hash ^ history.older);
  const std::uint64_t mask = bits < 64 ? (std::uint64_t{1} << bits) - 1 : ~std::uint64_t{0};
  return mixed(mixed(hash ^ (history.recent & mask)));
}

}  // namespace

TargetPredictor::TargetPredictor(std::uint32_t index_bits)
    : index_bits_(index_bits),
      by_site_(std::size_t{1} << (index_bits + kMoreBySite)),
      by_history_(std::size_t{kTables - 1} << index_bits) {}

bool TargetPredictor::predicted(std::uint32_t site, std::uint32_t target, BranchHistory& history) {
  Entry* longest = nullptr;   // the longest part of the history that matches
  Entry* shorter = nullptr;   // the next shorter one
  unsigned first_longer = 0;  // the first table of longer parts
  for (unsigned table = 0; table < kTables; ++table) {
    const std::uint64_t hash = hash_of(site, history, kHistoryBits[table]);
    const std::size_t index = hash & ((std::size_t{1} << index_bits_) - 1);
    found_[table] = table == 0 ? &by_site_[site % by_site_.size()]
                               : &by_history_[(std::size_t{table - 1} << index_bits_) + index];
    tags_[table] = static_cast<std::uint16_t>(hash >> 48 | 1);  // 0: the entry is free
    if (found_[table]->tag != tags_[table]) continue;
    shorter = longest;
    longest = found_[table];
    first_longer = table + 1;
  }
  history.add(static_cast<std::uint32_t>(mixed(target) >> 8) & ((1u << kTargetBits) - 1),
              kTargetBits);
  if (longest == nullptr) {
    allocate(0, target);
    return false;
  }
  // A new entry is not trusted.
  const bool by_shorter = longest->confidence == 0 && shorter != nullptr;
  const bool right = (by_shorter ? shorter : longest)->target == target;
  if (longest->target != target) {
    if (!right) allocate(first_longer, target);
    if (longest->confidence > 0) {
      --longest->confidence;
    } else {
      *longest = {.target = target, .tag = longest->tag};
    }
    return right;
  }
  if (longest->confidence < kMostConfident) ++longest->confidence;
  if (shorter != nullptr && shorter->target != target) longest->useful = true;
  return right;
}

// Allocates an entry in the first of the tables from `first` on whose entry has not been useful. If
// all have been, they become replaceable.
void TargetPredictor::allocate(unsigned first, std::uint32_t target) {
  for (unsigned table = first; table < kTables; ++table) {
    if (found_[table]->useful) continue;
    *found_[table] = {.target = target, .tag = tags_[table]};
    return;
  }
  for (unsigned table = first; table < kTables; ++table) found_[table]->useful = false;
}

}  // namespace pmemsim
