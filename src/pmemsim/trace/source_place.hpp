// Where in the program's source a recorded instruction stands.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

struct SourcePlace {
  std::string file, function;
  std::uint32_t line = 0;  // 0: unknown
  auto operator<=>(const SourcePlace&) const = default;
};

inline SourcePlace place_of(const SiteTable& sites, std::uint32_t number) {
  const SiteRecord& site = sites.sites()[number];
  return {std::string(sites.string(site.file)), std::string(sites.string(site.function)),
          site.line};
}

}  // namespace pmemsim::trace
