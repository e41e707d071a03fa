#include "pmemsim/checks/images/design_images.hpp"

#include <algorithm>

#include "pmemsim/checks/images/design_explanation.hpp"
#include "pmemsim/common/mix.hpp"

namespace pmemsim {

DesignImages::DesignImages(const trace::TraceFile& trace, const DesignGuarantees& design,
                           std::uint64_t seed, std::uint64_t most)
    : trace_(trace),
      design_(design),
      seed_(seed),
      most_(most),
      history_(trace, design.lowering, design.guarantees),
      order_(history_),
      sets_(order_.count(std::min(most, ImageSearch::kMostSets))),
      likely_(likely_group_sets(history_, order_)),
      values_(trace, history_, order_) {
  begin_again();
}

bool DesignImages::next() {
  restored_.clear();
  return search_->next();
}

void DesignImages::begin(Pass pass, std::uint64_t draws) {
  pass_ = pass;
  draws_left_ = draws;
  if (pass != Pass::kAll) return;
  for (const GuaranteedOrder::Group group : order_.writers()) values_.set(group, false);
  all_.emplace(order_);
}

bool DesignImages::next_set() {
  switch (pass_) {
    case Pass::kAll:
      if (!all_->next()) return false;
      for (const GuaranteedOrder::Group group : all_->left()) values_.set(group, false);
      for (const GuaranteedOrder::Group group : all_->joined()) values_.set(group, true);
      return true;
    case Pass::kLikely:
      if (likely_shown_ == likely_.size()) return false;
      go_to_set(likely_[likely_shown_++]);
      return true;
    case Pass::kRandom:
      if (draws_left_ == 0) return false;
      --draws_left_;
      go_to_set({.how = GroupSet::How::kRandom, .seed = mix(seed_) + ++drawn_});
      return true;
    case Pass::kReads:
      break;
  }
  return false;
}

void DesignImages::go_to_set(const GroupSet& set) {
  const std::vector<bool> there = members(set, order_);
  for (const GuaranteedOrder::Group group : order_.writers()) values_.set(group, there[group]);
}

bool DesignImages::go_to(std::uint64_t number) {
  if (search_->shown() > number || search_->ended() || !restored_.empty()) begin_again();
  while (search_->shown() < number) {
    if (!next()) return false;
  }
  return true;
}

void DesignImages::begin_again() {
  search_.emplace(static_cast<ImageSource&>(*this), sets_, instants(), most_);
  likely_shown_ = 0;
  drawn_ = 0;
}

// Returns the lost groups that may have happened: no guarantee that the image lacks was given
// before them.
std::vector<std::uint64_t> DesignImages::losses() const {
  const std::vector<bool> happened = happened_by(history_, order_, values_);
  std::vector<std::uint64_t> lost;
  for (const GuaranteedOrder::Group group : order_.writers()) {
    if (happened[group] && !has(group)) lost.push_back(group);
  }
  return lost;
}

void DesignImages::restore_losses(std::span<const std::uint64_t> groups, bool restored) {
  if (!restored) {
    for (const GuaranteedOrder::Group group : restored_) values_.set(group, false);
    restored_.clear();
    return;
  }
  restored_.clear();
  std::vector<GuaranteedOrder::Group> left;
  for (const std::uint64_t group : groups) left.push_back(static_cast<std::uint32_t>(group));
  std::vector<bool> seen(order_.groups());
  while (!left.empty()) {
    const GuaranteedOrder::Group group = left.back();
    left.pop_back();
    if (seen[group]) continue;
    seen[group] = true;
    if (order_.writes(group)) {
      if (has(group)) continue;  // All groups that this one follows are in the image, too
      values_.set(group, true);
      restored_.push_back(group);
    }
    left.insert(left.end(), order_.predecessors(group).begin(), order_.predecessors(group).end());
  }
}

std::vector<std::string> DesignImages::explanation() const {
  return design_explanation(trace_, design_, history_, order_, values_);
}

std::uint64_t DesignImages::instants() const {
  using By = ProgramHistory::GuaranteedBy;
  std::uint64_t instants = 1;
  for (ProgramHistory::UnitId unit = 0; unit < history_.units(); ++unit) {
    const By by = history_.unit(unit).guaranteed_by;
    if (by != By::kNothing && by != By::kOthers) ++instants;
  }
  return instants;
}

}  // namespace pmemsim
