// The compiled functions of a program, and the function to which each recorded instruction belongs.
//
// A site names the function of its source line, which in inlined code isn't the compiled function.
// The recorder lists the sites of a compiled function one after the other, and marks the first
// (kSiteNewFunction). Sites that weren't inlined give the function's name. In recordings without
// these marks, all sites with the same function name form a function.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

class Functions {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit Functions(const SiteTable& sites);
  // Does the same, except for recordings that mark inlined code but not the inlined calls, because
  // they are older than InlinedCall. In those, all sites with the same function name form a
  // function.
  static Functions with_inlined_calls(const SiteTable& sites);

  // Returns the site's function; kNone for a built-in site.
  std::uint32_t of(std::uint32_t site) const { return of_[site]; }
  // Returns the function's name; empty if all of its instructions are inlined from other functions.
  std::string_view name(std::uint32_t function) const { return names_[function]; }
  std::size_t size() const { return names_.size(); }

 private:
  Functions() = default;
  void follow_marks(const SiteTable& sites);
  void group_by_name(const SiteTable& sites);

  std::vector<std::uint32_t> of_;  // function by site
  std::vector<std::string_view> names_;
};

}  // namespace pmemsim::trace
