#include "pmemsim/checks/images/promised_images.hpp"

#include <algorithm>

#include "pmemsim/checks/images/promised_explanation.hpp"
#include "pmemsim/common/mix.hpp"

namespace pmemsim {

PromisedImages::PromisedImages(const trace::TraceFile& trace, const DesignPromises& promises,
                               std::uint64_t seed, std::uint64_t most)
    : trace_(trace),
      promises_(promises),
      seed_(seed),
      most_(most),
      history_(trace, promises.lowering, promises.guarantees),
      order_(history_),
      sets_(order_.count(std::min(most, ImageSearch::kMostAll))),
      likely_(likely_promised_sets(history_, order_)),
      values_(trace, history_, order_) {
  begin_again();
}

bool PromisedImages::next() {
  restored_.clear();
  return search_->next();
}

void PromisedImages::begin(Pass pass, std::uint64_t draws) {
  pass_ = pass;
  draws_left_ = draws;
  if (pass != Pass::kAll) return;
  for (const PromisedOrder::Group group : order_.writers()) values_.set(group, false);
  all_.emplace(order_);
}

bool PromisedImages::next_set() {
  switch (pass_) {
    case Pass::kAll:
      if (!all_->next()) return false;
      for (const PromisedOrder::Group group : all_->left()) values_.set(group, false);
      for (const PromisedOrder::Group group : all_->joined()) values_.set(group, true);
      return true;
    case Pass::kLikely:
      if (likely_shown_ == likely_.size()) return false;
      go_to_set(likely_[likely_shown_++]);
      return true;
    case Pass::kRandom:
      if (draws_left_ == 0) return false;
      --draws_left_;
      go_to_set({.how = PromisedSet::How::kRandom, .seed = mix(seed_) + ++drawn_});
      return true;
    case Pass::kReads:
      break;
  }
  return false;
}

void PromisedImages::go_to_set(const PromisedSet& set) {
  const std::vector<bool> there = members(set, order_);
  for (const PromisedOrder::Group group : order_.writers()) values_.set(group, there[group]);
}

bool PromisedImages::go_to(std::uint64_t number) {
  if (search_->shown() > number || search_->ended() || !restored_.empty()) begin_again();
  while (search_->shown() < number) {
    if (!next()) return false;
  }
  return true;
}

void PromisedImages::begin_again() {
  search_.emplace(static_cast<ImageSource&>(*this), sets_, instants(), most_);
  likely_shown_ = 0;
  drawn_ = 0;
}

// Returns the lost groups that may have happened: no guarantee that the image lacks was given
// before them.
std::vector<std::uint64_t> PromisedImages::losses() const {
  const std::vector<bool> happened = happened_by(history_, order_, values_);
  std::vector<std::uint64_t> lost;
  for (const PromisedOrder::Group group : order_.writers()) {
    if (happened[group] && !has(group)) lost.push_back(group);
  }
  return lost;
}

void PromisedImages::restore_losses(std::span<const std::uint64_t> groups, bool restored) {
  if (!restored) {
    for (const PromisedOrder::Group group : restored_) values_.set(group, false);
    restored_.clear();
    return;
  }
  restored_.clear();
  std::vector<PromisedOrder::Group> left;
  for (const std::uint64_t group : groups) left.push_back(static_cast<std::uint32_t>(group));
  std::vector<bool> seen(order_.groups());
  while (!left.empty()) {
    const PromisedOrder::Group group = left.back();
    left.pop_back();
    if (seen[group]) continue;
    seen[group] = true;
    if (order_.writes(group)) {
      if (has(group)) continue;  // All groups that this one follows are in the image, too
      values_.set(group, true);
      restored_.push_back(group);
    }
    left.insert(left.end(), order_.follows(group).begin(), order_.follows(group).end());
  }
}

std::vector<std::string> PromisedImages::explanation() const {
  return promised_explanation(trace_, promises_, history_, order_, values_);
}

std::uint64_t PromisedImages::instants() const {
  using By = ProgramHistory::PromisedBy;
  const auto promises = std::ranges::count_if(history_.units(), [](const auto& unit) {
    return unit.promise != By::kNothing && unit.promise != By::kOthers;
  });
  return static_cast<std::uint64_t>(promises) + 1;
}

}  // namespace pmemsim
