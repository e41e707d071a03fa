#include "pmemsim/analysis/functions.hpp"

#include <algorithm>
#include <unordered_map>

#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::trace {
namespace {

bool is_first(const SiteRecord& site) { return (site.flags & kSiteNewFunction) != 0; }

}  // namespace

Functions::Functions(const SiteTable& sites) : of_(sites.sites().size(), kNone) {
  if (std::ranges::any_of(sites.sites(), is_first)) {
    follow_marks(sites);
  } else {
    group_by_name(sites);
  }
}

Functions Functions::with_inlined_calls(const SiteTable& sites) {
  for (std::uint32_t number = kBuiltinSites; number < sites.sites().size(); ++number) {
    if ((sites.sites()[number].flags & kSiteInlined) == 0 || sites.inlined_at(number) != 0)
      continue;
    Functions functions;
    functions.of_.resize(sites.sites().size(), kNone);
    functions.group_by_name(sites);
    return functions;
  }
  return Functions(sites);
}

void Functions::follow_marks(const SiteTable& sites) {
  for (std::size_t number = kBuiltinSites; number < of_.size(); ++number) {
    const SiteRecord& site = sites.sites()[number];
    if (is_first(site) || names_.empty()) names_.emplace_back();
    of_[number] = static_cast<std::uint32_t>(names_.size() - 1);
    if ((site.flags & kSiteInlined) == 0) names_.back() = sites.string(site.function);
  }
}

void Functions::group_by_name(const SiteTable& sites) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (std::size_t number = kBuiltinSites; number < of_.size(); ++number) {
    const std::uint32_t name = sites.sites()[number].function;
    const auto [found, fresh] =
        numbers.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(sites.string(name));
    of_[number] = found->second;
  }
}

}  // namespace pmemsim::trace
