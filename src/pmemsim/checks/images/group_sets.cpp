#include "pmemsim/checks/images/group_sets.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

using Group = GuaranteedOrder::Group;

// Returns the largest down-closed set in which each writing group satisfies `wanted`.
template <class Wanted>
std::vector<bool> closed(const GuaranteedOrder& order, Wanted wanted) {
  std::vector<bool> there(order.groups());
  for (Group group = 0; group < order.groups(); ++group) {
    there[group] = order.is_complete(group) && (!order.writes(group) || wanted(group)) &&
                   std::ranges::all_of(order.predecessors(group),
                                       [&](Group earlier) { return there[earlier]; });
  }
  return there;
}

std::vector<bool> followed_by(Group group, const GuaranteedOrder& order) {
  std::vector<bool> found(order.groups());
  std::vector<Group> left{group};
  found[group] = true;
  while (!left.empty()) {
    const Group next = left.back();
    left.pop_back();
    for (const Group earlier : order.predecessors(next)) {
      if (found[earlier]) continue;
      found[earlier] = true;
      left.push_back(earlier);
    }
  }
  return found;
}

std::vector<bool> early_without(Group missing, const GuaranteedOrder& order) {
  const std::vector<bool> there = closed(order, [&](Group group) { return group != missing; });
  Group last = missing + 1;
  while (last < order.groups() && !(order.writes(last) && there[last])) ++last;
  return closed(order, [&](Group group) { return group != missing && group <= last; });
}

// Returns a random set. The crash occurs at any position. A half or an eighth of the last kLast
// groups before it is missing.
std::vector<bool> random_set(std::uint64_t seed, const GuaranteedOrder& order) {
  constexpr std::uint64_t kLast = 64;
  std::mt19937_64 random(seed);
  const std::vector<Group>& writers = order.writers();
  const std::uint64_t upto = random() % (writers.size() + 1);
  const std::uint64_t often = random() % 2 == 0 ? 2 : 8;
  const Group end = upto == writers.size() ? order.groups() : writers[upto];
  const Group guaranteed = upto < kLast ? 0 : writers[upto - kLast];
  return closed(order, [&](Group group) {
    return group < end && (group < guaranteed || random() % often != 0);
  });
}

// Returns a number that is equal for groups with the same store sites.
std::uint64_t code_of(Group group, const ProgramHistory& history, const GuaranteedOrder& order) {
  std::set<std::uint32_t> sites;
  for (const ProgramHistory::UnitId unit : order.units(group)) {
    for (const ProgramHistory::Write& write : history.writes(unit)) sites.insert(write.site);
  }
  std::uint64_t code = 0;
  for (const std::uint32_t site : sites) code = mix(code + site + 1);
  return code;
}

// Returns the round in which position `position` of `count` is tried: positions are bisected again
// and again.
std::uint32_t round_of(std::size_t position, std::size_t count) {
  std::size_t first = 0, end = count;
  std::uint32_t halved = 0;
  while (end - first > 1) {
    const std::size_t middle = first + (end - first) / 2;
    if (position == middle) break;
    (position < middle ? end : first) = middle;
    ++halved;
  }
  return (halved + 1) / 2;
}

}  // namespace

std::vector<bool> members(const GroupSet& set, const GuaranteedOrder& order) {
  switch (set.how) {
    case GroupSet::How::kAll:
      return closed(order, [](Group) { return true; });
    case GroupSet::How::kNothing:
      return closed(order, [](Group) { return false; });
    case GroupSet::How::kAlone: {
      const std::vector<bool> needed = followed_by(set.group, order);
      return closed(order, [&](Group group) { return needed[group]; });
    }
    case GroupSet::How::kWithout:
      return closed(order, [&](Group group) { return group != set.group; });
    case GroupSet::How::kEarlyWithout:
      return early_without(set.group, order);
    case GroupSet::How::kUntil:
      return closed(order, [&](Group group) { return group <= set.group; });
    case GroupSet::How::kRandom:
      break;
  }
  return random_set(set.seed, order);
}

std::vector<GroupSet> likely_group_sets(const ProgramHistory& history,
                                        const GuaranteedOrder& order) {
  std::map<std::uint64_t, std::vector<Group>> by_code;
  for (const Group group : order.writers())
    by_code[code_of(group, history, order)].push_back(group);
  std::vector<std::pair<std::uint32_t, Group>> rounds;
  for (const auto& [code, groups] : by_code) {
    for (std::size_t position = 0; position < groups.size(); ++position) {
      rounds.emplace_back(round_of(position, groups.size()), groups[position]);
    }
  }
  std::ranges::sort(rounds);
  std::vector<GroupSet> sets{{.how = GroupSet::How::kAll}, {.how = GroupSet::How::kNothing}};
  for (std::size_t first = 0; first < rounds.size();) {
    std::size_t end = first;
    while (end < rounds.size() && rounds[end].first == rounds[first].first) ++end;
    for (const GroupSet::How how : {GroupSet::How::kEarlyWithout, GroupSet::How::kAlone,
                                    GroupSet::How::kWithout, GroupSet::How::kUntil}) {
      for (std::size_t i = first; i < end; ++i) sets.push_back({how, rounds[i].second});
    }
    first = end;
  }
  return sets;
}

}  // namespace pmemsim
