// The tree of all call paths; a node is a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pmemsim::check {

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

}  // namespace pmemsim::check
