// The source location of a recorded instruction.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

struct SourceLocation {
  std::string file, function;
  std::uint32_t line = 0;  // 0: unknown
  auto operator<=>(const SourceLocation&) const = default;
};

inline bool in_system_header(const SiteTable& sites, std::uint32_t line) {
  return sites.string(sites.line(line).file).starts_with("/usr/");
}

// Returns the line itself or, for a line of a system header, the innermost call outside system
// headers into which the compiler inlined it. Sites have the same numbers as their lines.
inline std::uint32_t program_line(const SiteTable& sites, std::uint32_t line) {
  std::uint32_t outside = line;
  while (outside != 0 && in_system_header(sites, outside)) outside = sites.inlined_at(outside);
  return outside != 0 ? outside : line;
}

inline SourceLocation location_of(const SiteTable& sites, std::uint32_t line) {
  const SourceLine& found = sites.line(program_line(sites, line));
  return {std::string(sites.string(found.file)), std::string(sites.string(found.function)),
          found.line};
}

// Returns the location as reports name it, such as "list.c:12".
inline std::string text_of(const SourceLocation& location) {
  if (location.line == 0) return "an unknown source line";
  return fmt::format("{}:{}", location.file, location.line);
}

}  // namespace pmemsim::trace
