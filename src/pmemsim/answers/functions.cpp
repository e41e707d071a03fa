#include "pmemsim/answers/functions.hpp"

#include <algorithm>
#include <unordered_map>

#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::answers {
namespace {

bool is_first(const trace::SiteRecord& site) { return (site.flags & trace::kSiteNewFunction) != 0; }

}  // namespace

Functions::Functions(const trace::SiteTable& sites) : of_(sites.sites().size(), kNone) {
  if (std::ranges::any_of(sites.sites(), is_first)) {
    follow_marks(sites);
  } else {
    go_by_names(sites);
  }
}

void Functions::follow_marks(const trace::SiteTable& sites) {
  for (std::size_t number = trace::kBuiltinSites; number < of_.size(); ++number) {
    const trace::SiteRecord& site = sites.sites()[number];
    if (is_first(site) || names_.empty()) names_.emplace_back();
    of_[number] = static_cast<std::uint32_t>(names_.size() - 1);
    if ((site.flags & trace::kSiteInlined) == 0) names_.back() = sites.string(site.function);
  }
}

void Functions::go_by_names(const trace::SiteTable& sites) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (std::size_t number = trace::kBuiltinSites; number < of_.size(); ++number) {
    const std::uint32_t name = sites.sites()[number].function;
    const auto [found, fresh] =
        numbers.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(sites.string(name));
    of_[number] = found->second;
  }
}

}  // namespace pmemsim::answers
