// By which calls a thread has come to an operation.
//
// A recording has no calls as such, but every operation has its function. A function that isn't
// among those that are open has been called by the newest of these, at its last operation; an open
// one has been returned to. So a recursive call counts as one, a caller that does nothing recorded
// of its own is missing, and what is inlined counts as called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/check/contexts.hpp"
#include "pmemsim/check/findings.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim::check {

class CallStack {
 public:
  explicit CallStack(Findings& findings) : findings_(findings), sites_(findings.sites()) {}

  // The next operation's site, which isn't a built-in one.
  void follow(std::uint32_t site) {
    const std::uint32_t function = sites_[site].function;
    if (!open_.empty() && open_.back().function == function) {
      open_.back().last = site;
    } else {
      change(site, function);
    }
  }
  Contexts::Node context() const { return open_.empty() ? Contexts::kRoot : open_.back().node; }
  // That of the last operation; 0: there was none.
  std::uint32_t last() const { return open_.empty() ? 0 : open_.back().last; }

 private:
  static constexpr std::size_t kDeepest = 64;

  struct Open {
    std::uint32_t function, last;
    Contexts::Node node;
  };

  void change(std::uint32_t site, std::uint32_t function) {
    for (std::size_t depth = open_.size(); depth > 0; --depth) {
      if (open_[depth - 1].function != function) continue;
      open_.resize(depth);
      open_.back().last = site;
      return;
    }
    if (open_.size() == kDeepest) open_.clear();
    const Contexts::Node node =
        open_.empty() ? Contexts::kRoot
                      : findings_.contexts().called(open_.back().node, open_.back().last);
    open_.push_back({function, site, node});
  }

  Findings& findings_;
  std::span<const trace::SiteRecord> sites_;
  std::vector<Open> open_;
};

}  // namespace pmemsim::check
