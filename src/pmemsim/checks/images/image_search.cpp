#include "pmemsim/checks/images/image_search.hpp"

#include <algorithm>

#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

using Pass = ImageSource::Pass;

constexpr std::uint64_t kRoundsForNothing = 3;
constexpr std::uint64_t kLeastDraws = 1024;  // Minimum number of draws in a round

}  // namespace

bool ImageSearch::next() {
  do {
    while (wants_more() && source_.next_set()) {
      if (pass_ == Pass::kReads || hashes_.insert(source_.hash()).second) return true;
    }
  } while (next_pass());
  return false;
}

bool ImageSearch::wants_more() const {
  if (stage_ != Stage::kPass) return false;
  if (pass_ == Pass::kReads) return !source_.gave_up();
  return pass_ == Pass::kAll || shown() < most_;
}

// True if the search can go through all requested sets.
bool ImageSearch::fits() const { return sets_ <= static_cast<double>(std::min(most_, kMostSets)); }

bool ImageSearch::explores_reads_first() const {
  if (most_ == kNoEnd || sets_ <= static_cast<double>(kMostSetsBeforeReads)) return false;
  return static_cast<double>(most_) >= std::min(sets_, static_cast<double>(kMostSets));
}

bool ImageSearch::next_pass() {
  if (stage_ == Stage::kEnded) return false;
  if (stage_ == Stage::kNew) {
    if (reads_ != nullptr && explores_reads_first()) return begin_reads();
    return begin(fits() && most_ != kNoEnd ? Pass::kAll : Pass::kLikely);
  }
  switch (pass_) {
    case Pass::kLikely:
      if (shown() >= most_) return begin_reads();
      if (source_.has_another_likely_round()) return begin(Pass::kLikely);
      return begin(fits() ? Pass::kAll : Pass::kRandom);
    case Pass::kRandom:
      return after_random();
    case Pass::kAll:
      exact_ = true;
      return end(true);
    case Pass::kReads:
      break;
  }
  if (source_.gave_up() && fits() && explores_reads_first()) return begin(Pass::kAll);
  return end(!source_.gave_up());
}

bool ImageSearch::after_random() {
  const bool all_known = most_ == kNoEnd && reads_ != nullptr && reads_->left() == left_before_;
  if (all_known) return begin_reads();
  rounds_for_nothing_ = shown() > shown_before_ ? 0 : rounds_for_nothing_ + 1;
  if (shown() >= most_ || rounds_for_nothing_ == kRoundsForNothing) return begin_reads();
  return begin(Pass::kRandom);
}

bool ImageSearch::begin(Pass pass) {
  stage_ = Stage::kPass;
  pass_ = pass;
  shown_before_ = shown();
  if (reads_ != nullptr) left_before_ = reads_->left();
  std::uint64_t draws = std::max(kLeastDraws, instants_);
  if (rounds_for_nothing_ == 0) draws = std::min(draws, most_ - std::min(most_, shown()));
  source_.begin(pass, draws);
  return true;
}

bool ImageSearch::begin_reads() {
  if (reads_ == nullptr || reads_->left() == 0) return end(false);
  return begin(Pass::kReads);
}

bool ImageSearch::end(bool complete) {
  complete_ = complete;
  stage_ = Stage::kEnded;
  return false;
}

std::uint64_t ImageSearch::fingerprint() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t hash : hashes_) sum += mix(hash);
  return sum;
}

}  // namespace pmemsim
