// What a statistic says of others where it is declared. The end of every run checks it
// (statistics.hpp).
//
//   part_of("reads")             It is at most that statistic.
//   part_of("hits", "misses")    It is at most the sum of these.
//   share_of("writes")           All statistics that say so add up to that one.
//   share_of("writes", "kind")   The same for one of several ways to divide a statistic.
//   origin_of("dram.writes")     The same, but a design that is not pmemsim's own may write, too,
//                                without saying so: all that do add up to at most that one.
//   at_most("run.drained_ns")    It is limited by that: a mean, or a wait of one party, by a time.
//   at_most("run.drained_ns", 4) It is at most 4 times that: the waits of 4 parties.
//
// A name without a dot belongs to the group of the statistic that says so.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pmemsim {

struct Relation {
  enum class Kind : std::uint8_t { kPart, kShare, kOrigin, kLimit };

  // Each one that a share counts stands for so many of the whole: 64 bytes for a line.
  Relation each(std::uint64_t count) && {
    factor = static_cast<double>(count);
    return std::move(*this);
  }

  Kind kind;
  std::vector<std::string> wholes;
  double factor = 1;  // of a share, or of what limits
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

inline Relation at_most(std::string limit, std::uint64_t times = 1) {
  return {Relation::Kind::kLimit, {std::move(limit)}, static_cast<double>(times)};
}

}  // namespace pmemsim
