// The functions that a program was compiled into: which one each recorded instruction belongs to.
//
// A site names the function of its source line, which in inlined code isn't the one that was
// compiled. The recorder lists the sites of a compiled function one behind the other, and marks the
// first (kSiteNewFunction); the function has the name of those that weren't inlined. Recordings
// without these marks have a function of each name instead.
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
  // The same, but for recordings that say which code was inlined and not by which calls, as those
  // do that are older than InlinedCall: there all code of a name is a function.
  static Functions with_inlined_calls(const SiteTable& sites);

  // kNone: the site is built in.
  std::uint32_t of(std::uint32_t site) const { return of_[site]; }
  // Empty: all of the function's instructions come from others.
  std::string_view name(std::uint32_t function) const { return names_[function]; }
  std::size_t size() const { return names_.size(); }

 private:
  Functions() = default;
  void follow_marks(const SiteTable& sites);
  void go_by_names(const SiteTable& sites);

  std::vector<std::uint32_t> of_;  // by site
  std::vector<std::string_view> names_;
};

}  // namespace pmemsim::trace
