// By which calls a thread has come to an operation.
//
// A recording has no calls as such, but every operation has its function. A function that isn't
// among those that are open has been called by the newest of these, at its last operation; an open
// one has been returned to. So a recursive call counts as one, and a caller that does nothing
// recorded of its own is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

// The tree of all call paths; a node is a path.
class Contexts {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;  // no caller is known

  struct Call {
    Node parent = kRoot;
    std::uint32_t site = 0;  // in the calling function
  };

  Node called(Node parent, std::uint32_t site) {
    if (calls_.size() == kMost) return kRoot;
    const auto [entry, fresh] =
        nodes_.try_emplace(std::uint64_t{parent} << 32 | site, static_cast<Node>(calls_.size()));
    if (fresh) calls_.push_back({parent, site});
    return entry->second;
  }
  const Call& operator[](Node node) const { return calls_[node]; }

 private:
  static constexpr std::size_t kMost = 1 << 20;

  std::vector<Call> calls_{Call{}};
  std::unordered_map<std::uint64_t, Node> nodes_;
};

// One thread's open functions.
class CallStack {
 public:
  CallStack(Contexts& contexts, const trace::SiteTable& sites)
      : contexts_(&contexts), sites_(sites.sites()) {}

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
        open_.empty() ? Contexts::kRoot : contexts_->called(open_.back().node, open_.back().last);
    open_.push_back({function, site, node});
  }

  Contexts* contexts_;
  std::span<const trace::SiteRecord> sites_;
  std::vector<Open> open_;
};

}  // namespace pmemsim::check
