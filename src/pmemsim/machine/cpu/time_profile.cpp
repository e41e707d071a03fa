#include "pmemsim/machine/cpu/time_profile.hpp"

#include <algorithm>

namespace pmemsim {

TimeProfile::TimeProfile(const trace::SiteTable& sites) : sites_(sites), marks_(sites) {}

std::uint32_t TimeProfile::row_of(const trace::Contexts::Call& at, bool log) {
  const std::uint64_t key = std::uint64_t{at.parent} << 32 | std::uint64_t{at.line} << 1 | log;
  const auto [found, fresh] = numbers_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
  if (fresh) rows_.push_back({.at = at, .log = log});
  return found->second;
}

void TimeProfile::add(std::uint32_t number, const Part& part) {
  Row& row = rows_[number];
  if (part.account == part.cause && part.stage == StallPart::kNone) {
    row.plain.add(part.cause, part.slots);
    return;
  }
  const auto same = std::ranges::find_if(row.parts, [&](const Part& other) {
    return other.account == part.account && other.cause == part.cause && other.stage == part.stage;
  });
  if (same == row.parts.end()) {
    row.parts.push_back(part);
  } else {
    same->slots += part.slots;
  }
}

}  // namespace pmemsim
