// The tree of all call paths; a node is a path. A call is identified by its line (SiteTable::line):
// the line of a site or of an inlined call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pmemsim::trace {

class Contexts {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;  // No caller is known

  struct Call {
    Node parent = kRoot;
    std::uint32_t line = 0;  // Line in the calling function
    auto operator<=>(const Call&) const = default;
  };

  Node called(Node parent, std::uint32_t line) {
    if (calls_.size() == kMost) return kRoot;
    const auto [entry, fresh] =
        nodes_.try_emplace(std::uint64_t{parent} << 32 | line, static_cast<Node>(calls_.size()));
    if (fresh) calls_.push_back({parent, line});
    return entry->second;
  }
  const Call& operator[](Node node) const { return calls_[node]; }

  // Starts at a line with its call path and returns the first call outwards that is not skipped.
  // Returns `from` if all are skipped.
  template <class Skips>
  Call outside(const Call& from, Skips skips) const {
    Call found = from;
    while (skips(found.line) && found.parent != kRoot) found = calls_[found.parent];
    return skips(found.line) ? from : found;
  }

 private:
  static constexpr std::size_t kMost = 1 << 20;

  std::vector<Call> calls_{Call{}};
  std::unordered_map<std::uint64_t, Node> nodes_;
};

}  // namespace pmemsim::trace
