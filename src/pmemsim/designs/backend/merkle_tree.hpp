// A Bonsai Merkle tree (Rogers, Chhabra, Prvulovic, Solihin: MICRO 2007; Janus, 4.2): hashes of
// lines of entries, hashes of eight of these, and so on to the root. What isn't there is as if all
// below it were zero.
//
// A node is a line of eight hashes. Of PM that is larger than one tree there are several, each with
// a root of its own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/designs/backend/line_crypto.hpp"

namespace pmemsim {

// A node of the tree as a line of PM.
constexpr std::uint64_t kNodes = std::uint64_t{1} << 54;  // as line numbers, up to twice that
constexpr unsigned kNodeNumberBits = 48;                  // of a node on its level

constexpr bool is_node(Line line) { return line.number >= kNodes && line.number < 2 * kNodes; }
constexpr Line node_line(std::uint32_t level, std::uint64_t number) {
  return {kNodes + (std::uint64_t{level} << kNodeNumberBits) + number};
}
constexpr std::uint32_t level_of(Line node) {
  return static_cast<std::uint32_t>((node.number - kNodes) >> kNodeNumberBits);
}
constexpr std::uint64_t number_of(Line node) {
  return node.number & ((std::uint64_t{1} << kNodeNumberBits) - 1);
}

class MerkleTree {
 public:
  static constexpr std::uint32_t kArity = 8;
  using Roots = std::map<std::uint64_t, std::uint64_t>;  // of each tree that isn't all zero

  // `levels` of hashes, those of the leaves and the root among them.
  explicit MerkleTree(std::uint32_t levels);

  // A leaf holds something else. Its hashes are worked out when somebody asks for one.
  std::uint32_t levels() const { return levels_; }
  void update(std::uint64_t leaf, const LineData& contents) { changed_[leaf] = contents; }
  const Roots& roots();
  // The node above so many levels of hashes, at least one; its number is that of its first leaf by
  // so many arities.
  LineData node(std::uint32_t level, std::uint64_t number);
  LineData node(Line node) { return this->node(level_of(node), number_of(node)); }
  // The nodes above a leaf, from the lowest on, as they were if it held that.
  std::vector<std::pair<Line, LineData>> nodes_above(std::uint64_t leaf, const LineData& contents);
  // All that aren't as if everything below were zero.
  std::vector<Line> all_nodes();

  // Where the leaf's node stands on that level.
  static std::uint64_t above(std::uint64_t leaf, std::uint32_t level) {
    return leaf >> (kBitsALevel * level);
  }
  // The lowest level on which both leaves have the same node.
  static std::uint32_t common_level(std::uint64_t one, std::uint64_t other) {
    return (static_cast<std::uint32_t>(std::bit_width(one ^ other)) + kBitsALevel - 1) /
           kBitsALevel;
  }
  static Line node_above(std::uint64_t leaf, std::uint32_t level) {
    return node_line(level, above(leaf, level));
  }

 private:
  static constexpr std::uint32_t kBitsALevel = 3;
  using Node = std::array<std::uint64_t, kArity>;

  void work_out();
  std::uint64_t hash(const Node& node) const;
  std::uint64_t hash(std::uint64_t leaf, const LineData& contents) const;
  Node& find(std::uint32_t level, std::uint64_t number);
  static LineData line_of(const Node& node);

  const std::uint32_t levels_;
  const LineHash hash_;
  std::vector<std::uint64_t> of_zero_;  // the hash of a subtree of zeros, by its levels
  std::vector<std::unordered_map<std::uint64_t, Node>> nodes_;  // by level, from 1
  std::unordered_map<std::uint64_t, LineData> changed_;         // leaves that haven't been hashed
  Roots roots_;
};

}  // namespace pmemsim
