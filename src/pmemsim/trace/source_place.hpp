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

inline bool in_system_header(const SiteTable& sites, std::uint32_t line) {
  return sites.string(sites.line(line).file).starts_with("/usr/");
}

// The line itself; for a system header's, the one outside that calls it, if the compiler has
// inlined that call. A site's number is its line's.
inline std::uint32_t program_line(const SiteTable& sites, std::uint32_t line) {
  std::uint32_t outside = line;
  while (outside != 0 && in_system_header(sites, outside)) outside = sites.inlined_at(outside);
  return outside != 0 ? outside : line;
}

inline SourcePlace place_of(const SiteTable& sites, std::uint32_t line) {
  const SourceLine& found = sites.line(program_line(sites, line));
  return {std::string(sites.string(found.file)), std::string(sites.string(found.function)),
          found.line};
}

}  // namespace pmemsim::trace
