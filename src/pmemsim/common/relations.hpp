// Relations that a statistic declares to other statistics. They are checked at the end of every run
// (statistics.hpp).
//
//   part_of("reads")             The statistic is at most `reads`.
//   part_of("hits", "misses")    The statistic is at most the sum of `hits` and `misses`.
//   share_of("writes")           All statistics with this relation add up to `writes`.
//   share_of("writes", "kind")   The same for the division of `writes` by kind, one of several.
//   origin_of("dram.writes")     All statistics with this relation add up to at most `dram.writes`:
//                                a design that is not pmemsim's own may write without declaring it.
//   at_most("run.drained_ns")    The statistic, a mean of times or the wait of one component, is at
//                                most `run.drained_ns`.
//   at_most("run.drained_ns").times(4)
//                                The statistic, the sum of the waits of 4 components, is at most 4
//                                times `run.drained_ns`.
//
// A name without a dot belongs to the group of the statistic that declares the relation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pmemsim {

struct Relation {
  enum class Kind : std::uint8_t { kPart, kShare, kOrigin, kLimit };

  // Sets the factor: each unit of the share equals `count` units of the whole, such as 64 bytes for
  // a line.
  Relation each(std::uint64_t count) && {
    factor = static_cast<double>(count);
    return std::move(*this);
  }
  // Sets the factor of a limit: the statistic is at most `count` times the limit.
  Relation times(std::uint64_t count) && { return std::move(*this).each(count); }

  Kind kind;
  std::vector<std::string> wholes;
  double factor = 1;  // factor of a share, or of the limiting statistic
  std::string division{};
};

template <class... Names>
Relation part_of(const Names&... names) {
  return {Relation::Kind::kPart, {std::string(names)...}};
}

inline Relation share_of(std::string whole, std::string division = {}) {
  return {Relation::Kind::kShare, {std::move(whole)}, 1, std::move(division)};
}

inline Relation origin_of(std::string whole) {
  return {Relation::Kind::kOrigin, {std::move(whole)}};
}

inline Relation at_most(std::string limit) { return {Relation::Kind::kLimit, {std::move(limit)}}; }

}  // namespace pmemsim
