// The call stack of a thread at each operation.
//
// Recordings contain the operations of all compiled functions, in the thread's order. The recorder
// marks the first site that a call executes (kSiteEntry) and the last (kSiteExit). Before each call
// it records the caller's instructions. So the open functions can be reconstructed:
//
//   1  An operation at an entry begins a call. The newest open function is the caller, at its last
//      operation.
//   2  After an operation at an exit, the call that it belongs to is no longer open.
//   3  Any other operation belongs to the newest open call of its function. Newer calls have ended
//      without an exit, by an exception or a tail call. If no such call is open, the operation
//      begins one. This happens in recordings older than the marks, and in functions that begin
//      without an operation of their own.
//
// If kDeepest calls are open, the inner half of them is removed. The exits of the removed calls are
// ignored later, so that a recursion returns to its caller. A recursive call gets the path of its
// function's first open call, so that paths do not grow with recursion. Inlined functions are not
// called, but the recording says at which line they are inlined. These lines follow the calls that
// led to the compiled function.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/analysis/contexts.hpp"
#include "pmemsim/analysis/functions.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::trace {

// The effect of a site on the stack: its function, with flags for the start or the end of a call,
// and the line that the site is inlined at. Both are looked up for every operation, so they are
// stored together.
class CallMarks {
 public:
  static constexpr std::uint32_t kEntry = 1, kExit = 2;
  struct Site {
    std::uint32_t mark;        // function << 2 | kEntry | kExit
    std::uint32_t inlined_at;  // Number of a line in SiteTable
  };

  explicit CallMarks(const SiteTable& sites) {
    const auto functions = Functions::with_inlined_calls(sites);
    for (std::uint32_t site = 0; site < sites.sites().size(); ++site) {
      const std::uint8_t flags = sites.sites()[site].flags;
      const std::uint32_t entry = (flags & kSiteEntry) != 0 ? kEntry : 0;
      const std::uint32_t exit = (flags & kSiteExit) != 0 ? kExit : 0;
      sites_.push_back({functions.of(site) << 2 | entry | exit, sites.inlined_at(site)});
    }
  }

  const Site& operator[](std::uint32_t site) const { return sites_[site]; }
  // Returns the mark of the function's ordinary sites.
  static std::uint32_t ordinary(std::uint32_t mark) { return mark & ~(kEntry | kExit); }

 private:
  std::vector<Site> sites_;
};

class CallStack {
 public:
  CallStack(Contexts& contexts, const SiteTable& sites, const CallMarks& marks)
      : contexts_(contexts), sites_(sites), marks_(marks) {}

  // Processes the next operation's site, which must not be a built-in one.
  void follow(std::uint32_t site) {
    const CallMarks::Site& next = marks_[site];
    if (next.mark != unchanged_) change(next.mark);
    last_ = site;
    inlined_at_ = next.inlined_at;
  }

  // Returns the call path of the last operation.
  Contexts::Node context() const { return open_.empty() ? Contexts::kRoot : path(); }
  std::uint32_t last() const { return last_; }  // 0: there was no operation

 private:
  static constexpr std::size_t kDeepest = 1024;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Open {
    std::uint32_t function;  // The ordinary mark
    std::uint32_t last;      // Site of the function's last operation before a call
    Contexts::Node calls;    // Call path to the function
    // Call path with the inlined calls of the line; computed on demand.
    mutable std::uint32_t inlined_at;
    mutable Contexts::Node path;
  };

  // Returns the path to the last operation, which belongs to the newest open call.
  Contexts::Node path() const {
    const Open& call = open_.back();
    if (inlined_at_ != call.inlined_at) {
      call.inlined_at = inlined_at_;
      call.path = inlined_path(call.calls, inlined_at_);
    }
    return call.path;
  }

  Contexts::Node inlined_path(Contexts::Node calls, std::uint32_t innermost) const {
    chain_.clear();
    for (std::uint32_t line = innermost; line != 0; line = sites_.inlined_at(line)) {
      chain_.push_back(line);
    }
    Contexts::Node path = calls;
    for (; !chain_.empty(); chain_.pop_back()) path = contexts_.called(path, chain_.back());
    return path;
  }

  void change(std::uint32_t mark) {
    if (unchanged_ == kNone && !open_.empty()) leave();
    const std::uint32_t function = CallMarks::ordinary(mark);
    if ((mark & CallMarks::kEntry) != 0) {
      enter(function);
    } else if (open_.empty() || open_.back().function != function) {
      return_to(function);
    }
    unchanged_ = (mark & CallMarks::kExit) != 0 ? kNone : function;
  }

  void leave() {
    if (dropped_ > 0 && open_.size() <= kDeepest / 2) {
      --dropped_;
      return;
    }
    open_.pop_back();
    if (open_.empty()) return;
    last_ = open_.back().last;
    inlined_at_ = marks_[last_].inlined_at;
  }

  void enter(std::uint32_t function) {
    if (open_.size() == kDeepest) {
      open_.resize(kDeepest / 2);
      dropped_ += kDeepest / 2;
    }
    const auto same = std::ranges::find(open_, function, &Open::function);
    Contexts::Node calls = Contexts::kRoot;
    if (same != open_.end()) {
      calls = same->calls;
    } else if (!open_.empty()) {
      calls = contexts_.called(path(), last_);
    }
    if (!open_.empty()) open_.back().last = last_;
    open_.push_back(
        {.function = function, .last = 0, .calls = calls, .inlined_at = 0, .path = calls});
  }

  void return_to(std::uint32_t function) {
    for (std::size_t depth = open_.size(); depth > 0; --depth) {
      if (open_[depth - 1].function != function) continue;
      if (depth < open_.size()) dropped_ = 0;
      open_.resize(depth);
      return;
    }
    enter(function);
  }

  Contexts& contexts_;
  const SiteTable& sites_;
  const CallMarks& marks_;
  std::vector<Open> open_;
  std::uint32_t last_ = 0, inlined_at_ = 0;  // Site of the last operation, and its inlining line
  // If the next site has this mark, the stack stays unchanged. kNone: the last operation was an
  // exit.
  std::uint32_t unchanged_ = kNone;
  std::uint64_t dropped_ = 0;  // Number of calls removed from the stack that have not ended
  mutable std::vector<std::uint32_t> chain_;
};

}  // namespace pmemsim::trace
