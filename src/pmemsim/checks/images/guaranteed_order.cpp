#include "pmemsim/checks/images/guaranteed_order.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace pmemsim {
namespace {

using UnitId = ProgramHistory::UnitId;
constexpr std::uint32_t kNoGroup = ProgramHistory::kNone;

// Finds cycles of units that follow each other (Tarjan: "Depth-first search and linear graph
// algorithms", 1972) and numbers them by unit.
class Circles {
 public:
  explicit Circles(const ProgramHistory& history)
      : history_(history), states_(history.units()), circle_of_(states_.size(), kNoGroup) {
    for (UnitId unit = 0; unit < states_.size(); ++unit) {
      if (states_[unit].number == 0) search(unit);
    }
  }
  std::uint32_t count() const { return circles_; }
  std::uint32_t of(UnitId unit) const { return circle_of_[unit]; }

 private:
  struct State {
    std::uint32_t number = 0, lowest = 0;
  };
  struct Visit {
    UnitId unit;
    std::size_t next;  // Index in the units that `unit` follows
  };

  void search(UnitId root) {
    enter(root);
    while (!visits_.empty()) {
      Visit& visit = visits_.back();
      const auto follows = history_.follows(visit.unit);
      if (visit.next == follows.size()) {
        leave(visit.unit);
      } else {
        const UnitId earlier = follows[visit.next++];
        if (states_[earlier].number == 0) {
          enter(earlier);
        } else if (circle_of_[earlier] == kNoGroup) {
          lower(visit.unit, states_[earlier].number);
        }
      }
    }
  }
  void enter(UnitId unit) {
    states_[unit] = {++entered_, entered_};
    visits_.push_back({unit, 0});
    open_.push_back(unit);
  }
  void leave(UnitId unit) {
    visits_.pop_back();
    const State state = states_[unit];
    if (!visits_.empty()) lower(visits_.back().unit, state.lowest);
    if (state.lowest != state.number) return;
    UnitId member;
    do {
      member = open_.back();
      open_.pop_back();
      circle_of_[member] = circles_;
    } while (member != unit);
    ++circles_;
  }
  void lower(UnitId unit, std::uint32_t number) {
    states_[unit].lowest = std::min(states_[unit].lowest, number);
  }

  const ProgramHistory& history_;
  std::vector<State> states_;
  std::vector<std::uint32_t> circle_of_;
  std::vector<Visit> visits_;
  std::vector<UnitId> open_;
  std::uint32_t entered_ = 0, circles_ = 0;
};

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

void sort_once(Pairs& pairs) {
  std::ranges::sort(pairs);
  const auto repeated = std::ranges::unique(pairs);
  pairs.erase(repeated.begin(), repeated.end());
}

// Returns, by unit, the progress of its thread at the unit, between 0 and 1.
std::vector<double> progress_of(const ProgramHistory& history) {
  std::vector<std::size_t> counts;
  std::vector<double> progress;
  for (UnitId unit = 0; unit < history.units(); ++unit) {
    const CoreId thread = history.unit(unit).thread;
    counts.resize(std::max<std::size_t>(counts.size(), thread + 1));
    progress.push_back(static_cast<double>(++counts[thread]));
  }
  for (UnitId unit = 0; unit < progress.size(); ++unit) {
    progress[unit] /= static_cast<double>(counts[history.unit(unit).thread]);
  }
  return progress;
}

// Returns, by cycle, its position in an order in which each cycle comes after those that it
// follows. If several cycles may be next, the one whose thread has advanced least comes first.
std::vector<std::uint32_t> positions_of(const Circles& circles, const ProgramHistory& history,
                                        const Pairs& follows) {
  std::vector<double> progress(circles.count());
  const std::vector<double> of_units = progress_of(history);
  for (UnitId unit = 0; unit < of_units.size(); ++unit) {
    double& latest = progress[circles.of(unit)];
    latest = std::max(latest, of_units[unit]);
  }
  std::vector<std::uint32_t> missing(circles.count());
  Pairs followers;
  for (const auto& [circle, earlier] : follows) {
    ++missing[circle];
    followers.emplace_back(earlier, circle);
  }
  std::ranges::sort(followers);
  using Next = std::pair<double, std::uint32_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> ready;
  for (std::uint32_t circle = 0; circle < circles.count(); ++circle) {
    if (missing[circle] == 0) ready.emplace(progress[circle], circle);
  }
  std::vector<std::uint32_t> positions(circles.count());
  for (std::uint32_t position = 0; !ready.empty(); ++position) {
    const std::uint32_t circle = ready.top().second;
    ready.pop();
    positions[circle] = position;
    auto later = std::ranges::lower_bound(followers, std::pair{circle, std::uint32_t{0}});
    for (; later != followers.end() && later->first == circle; ++later) {
      if (--missing[later->second] == 0) ready.emplace(progress[later->second], later->second);
    }
  }
  return positions;
}

}  // namespace

GuaranteedOrder::GuaranteedOrder(const ProgramHistory& history) {
  const Circles circles(history);
  const UnitId units = history.units();
  Pairs follows;
  for (UnitId unit = 0; unit < units; ++unit) {
    for (const UnitId earlier : history.follows(unit)) {
      if (circles.of(unit) == circles.of(earlier)) continue;
      follows.emplace_back(circles.of(unit), circles.of(earlier));
    }
  }
  sort_once(follows);
  const std::vector<std::uint32_t> positions = positions_of(circles, history, follows);

  writes_.resize(circles.count());
  complete_.resize(circles.count(), true);
  Pairs members, followers;
  for (UnitId unit = 0; unit < units; ++unit) {
    group_of_.push_back(positions[circles.of(unit)]);
    members.emplace_back(group_of_.back(), unit);
    if (!history.writes(unit).empty()) writes_[group_of_.back()] = true;
    if (!history.unit(unit).ended) complete_[group_of_.back()] = false;
  }
  for (auto& [group, earlier] : follows) {
    group = positions[group];
    earlier = positions[earlier];
    followers.emplace_back(earlier, group);
  }
  std::ranges::sort(members);
  std::ranges::sort(follows);
  std::ranges::sort(followers);
  units_.set(circles.count(), members);
  predecessors_.set(circles.count(), follows);
  successors_.set(circles.count(), followers);
  for (Group group = 0; group < groups(); ++group) {
    if (writes(group) && is_complete(group)) writers_.push_back(group);
  }
}

void GuaranteedOrder::Lists::set(Group groups,
                                 const std::vector<std::pair<Group, std::uint32_t>>& pairs) {
  begins_.assign(groups + std::size_t{1}, 0);
  for (const auto& [group, number] : pairs) {
    ++begins_[group + std::size_t{1}];
    numbers_.push_back(number);
  }
  for (Group group = 0; group < groups; ++group) begins_[group + 1] += begins_[group];
}

double GuaranteedOrder::count(std::uint64_t most) const {
  EachGroupSet sets(*this);
  std::uint64_t count = 0;
  while (sets.next()) {
    if (++count > most) return chains();
  }
  return static_cast<double>(count);
}

// A chain is a sequence of groups, each of which follows the previous one. A set contains a prefix
// of each chain, which gives an upper bound of the number of sets.
double GuaranteedOrder::chains() const {
  std::vector<std::uint32_t> lengths;
  constexpr std::uint32_t kInside = kNoGroup;
  // By group: number of the chain that it ends.
  std::vector<std::uint32_t> lasts(groups(), kInside);
  for (Group group = 0; group < groups(); ++group) {
    std::uint32_t chain = kInside;
    for (const Group earlier : predecessors(group)) {
      if (lasts[earlier] == kInside) continue;
      chain = std::exchange(lasts[earlier], kInside);
      break;
    }
    if (chain == kInside) {
      chain = static_cast<std::uint32_t>(lengths.size());
      lengths.push_back(0);
    }
    lasts[group] = chain;
    lengths[chain] += writes(group) && is_complete(group) ? 1 : 0;
  }
  double sets = 1;
  for (const std::uint32_t length : lengths) sets *= length + 1.0;
  return sets;
}

// ---- All sets -----------------------------------------------------------------------------------

EachGroupSet::EachGroupSet(const GuaranteedOrder& order) : order_(order) {
  for (Group group = 0; group < order.groups(); ++group) {
    const auto follows = static_cast<std::uint32_t>(order.predecessors(group).size());
    missing_.push_back(follows + (order.is_complete(group) ? 0 : 1));
  }
}

bool EachGroupSet::next() {
  left_.clear();
  joined_.clear();
  if (!std::exchange(begun_, true)) {
    std::vector<Group> ready;
    for (Group group = 0; group < order_.groups(); ++group) {
      if (!order_.predecessors(group).empty() || !order_.is_complete(group)) continue;
      if (order_.writes(group)) {
        ready.push_back(group);
      } else {
        hold(group, ready);
      }
    }
    std::ranges::sort(ready, std::greater{});
    levels_.push_back({kNoGroup, std::move(ready)});
    return true;
  }
  while (!levels_.empty() && levels_.back().ready.empty()) {
    if (levels_.back().added != kNoGroup) {
      release(levels_.back().added);
      left_.push_back(levels_.back().added);
    }
    levels_.pop_back();
  }
  if (levels_.empty()) return false;
  const Group group = levels_.back().ready.back();
  levels_.back().ready.pop_back();
  add(group, levels_.back().ready);
  return true;
}

void EachGroupSet::add(Group group, std::vector<Group> ready) {
  hold(group, ready);
  std::ranges::sort(ready, std::greater{});
  joined_.push_back(group);
  levels_.push_back({group, std::move(ready)});
}

// Adds the group, and all groups that write nothing and whose predecessors are in the set now.
// Appends the writing groups with that property to `ready`.
void EachGroupSet::hold(Group group, std::vector<Group>& ready) {
  stack_.push_back(group);
  while (!stack_.empty()) {
    const Group next = stack_.back();
    stack_.pop_back();
    for (const Group later : order_.successors(next)) {
      if (--missing_[later] > 0) continue;
      (order_.writes(later) ? ready : stack_).push_back(later);
    }
  }
}

void EachGroupSet::release(Group group) {
  stack_.push_back(group);
  while (!stack_.empty()) {
    const Group next = stack_.back();
    stack_.pop_back();
    for (const Group later : order_.successors(next)) {
      if (missing_[later]++ == 0 && !order_.writes(later)) stack_.push_back(later);
    }
  }
}

}  // namespace pmemsim
