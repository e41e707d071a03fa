// The source locations of sites, as text; each is looked up once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {

class SourceNames {
 public:
  explicit SourceNames(const trace::SiteTable& sites) : sites_(sites) {}

  // Returns a location such as "list.c:12".
  const std::string& of(std::uint32_t site) {
    const auto [found, is_new] = names_.try_emplace(site);
    if (is_new) found->second = trace::text_of(trace::location_of(sites_, site));
    return found->second;
  }

 private:
  const trace::SiteTable& sites_;
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace pmemsim
