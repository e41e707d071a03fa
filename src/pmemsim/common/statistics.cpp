#include "pmemsim/common/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "pmemsim/common/error.hpp"

namespace pmemsim {

void StatisticsCollector::relate(Relation relation) {
  for (std::string& whole : relation.wholes) {
    const bool in_own_group = whole.find('.') == std::string::npos;
    if (in_own_group) whole.insert(0, prefix_);
    if (!in_own_group && !of_.empty() && !whole.starts_with(std::string(of_) + ".")) return;
  }
  declared_.back().relations.push_back(std::move(relation));
}

std::size_t StatisticsCollector::relations() const {
  std::size_t count = 0;
  for (const Declared& declared : declared_) count += declared.relations.size();
  return count;
}

std::vector<Relation> StatisticsCollector::relations_of(std::string_view name) const {
  const auto found = std::ranges::find(declared_, name, &Declared::name);
  return found == declared_.end() ? std::vector<Relation>() : found->relations;
}

class StatisticsCollector::Check {
 public:
  Check(const std::vector<Declared>& all, Origins origins) {
    by_name_.reserve(all.size());
    for (const Declared& declared : all) by_name_.emplace(declared.name, &declared);
    for (const Declared& declared : all) {
      for (const Relation& relation : declared.relations) take(declared, relation);
    }
    for (const auto& [whole, shares] : shares_) check_shares(*whole.first, shares, false);
    const bool some = origins == Origins::kSome;
    for (const auto& [whole, shares] : origins_) check_shares(*whole, shares, some);
  }

  // Sentences, one for each relation that does not hold.
  std::vector<std::string> problems;

 private:
  static std::string text(double value, bool is_time) {
    return is_time ? fmt::format("{} ns", value / kPicoseconds) : fmt::format("{}", value);
  }
  struct Term {
    const Declared* declared;
    double factor;

    double value() const { return declared->amount.value * factor; }
    std::string text() const {
      const std::string times = factor == 1 ? "" : fmt::format("{} times ", factor);
      return fmt::format("{}{} ({})", times, declared->name,
                         Check::text(declared->amount.value, declared->amount.is_time));
    }
  };
  using Terms = std::vector<Term>;

  static double total(const Terms& terms) {
    double sum = 0;
    for (const Term& term : terms) sum += term.value();
    return sum;
  }
  static std::string text(const Terms& terms) {
    std::string all;
    for (const Term& term : terms) all += (all.empty() ? "" : " + ") + term.text();
    return all;
  }
  // Whole numbers are compared exactly as long as a double represents them exactly. A sum of other
  // numbers depends on the order of its terms in the last of 16 digits. 9 digits do not show that
  // difference.
  static double tolerance(const Declared& one, const Terms& others) {
    constexpr double kRelative = 1e-9, kExact = 9'007'199'254'740'992;  // 2^53
    const double largest = std::max(std::abs(one.amount.value), std::abs(total(others)));
    const bool exact = largest <= kExact && one.amount.is_whole &&
                       std::ranges::all_of(
                           others, [](const Term& term) { return term.declared->amount.is_whole; });
    return exact ? 0 : kRelative * largest;
  }

  void take(const Declared& declared, const Relation& relation) {
    Terms wholes;
    for (const std::string& name : relation.wholes) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        problems.push_back(
            fmt::format("{} is declared as related to {}, which this run does not "
                        "have",
                        declared.name, name));
        return;
      }
      wholes.push_back({found->second, relation.factor});
    }
    switch (relation.kind) {
      case Relation::Kind::kPart:
        return check_at_most(declared, wholes, "a part of");
      case Relation::Kind::kLimit:
        return check_at_most(declared, wholes, "at most");
      case Relation::Kind::kShare:
        shares_[{wholes.front().declared, relation.division}].push_back(
            {&declared, relation.factor});
        return;
      case Relation::Kind::kOrigin:
        origins_[wholes.front().declared].push_back({&declared, relation.factor});
    }
  }

  void check_at_most(const Declared& one, const Terms& wholes, std::string_view what) {
    if (one.amount.value <= total(wholes) + tolerance(one, wholes)) return;
    problems.push_back(fmt::format("{} is declared as {} {}, but is larger", Term{&one, 1}.text(),
                                   what, text(wholes)));
  }

  // Times of clock edges are rounded down to picoseconds (clock.hpp). Each share, and the whole,
  // loses less than 1 ps by this rounding.
  void check_shares(const Declared& whole, const Terms& shares, bool may_lack) {
    const double lacking = whole.amount.value - total(shares);
    const double rounded = whole.amount.is_time ? static_cast<double>(shares.size() - 1) : 0;
    const double tolerated = tolerance(whole, shares);
    if (lacking >= -tolerated && (may_lack || lacking <= rounded + tolerated)) return;
    problems.push_back(fmt::format("{} is declared as {} of {}, which is {}",
                                   Term{&whole, 1}.text(),
                                   may_lack ? "at least the sum" : "the sum", text(shares),
                                   text(total(shares), whole.amount.is_time)));
  }

  std::unordered_map<std::string_view, const Declared*> by_name_;
  // Shares by whole and division, in the order of declaration.
  std::map<std::pair<const Declared*, std::string_view>, Terms> shares_;
  std::map<const Declared*, Terms> origins_;
};

void StatisticsCollector::check(Origins origins) const {
  const std::vector<std::string> problems = Check(declared_, origins).problems;
  if (problems.empty()) return;
  std::string text = "the statistics of this run contradict each other: ";
  for (const std::string& problem : problems) {
    text += (&problem == &problems.front() ? "" : "; ") + problem;
  }
  throw InternalError(text + "; please report this with the trace and the configuration");
}

}  // namespace pmemsim
