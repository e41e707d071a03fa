// A Bonsai Merkle tree (Rogers, Chhabra, Prvulovic, Solihin: MICRO 2007; Janus, 4.2): hashes of
// lines of entries, hashes of 8 of these, and so on to the root. A node that isn't stored has the
// value that follows from all-zero lines below it.
//
// A node is a line of 8 hashes. PM that is larger than one tree has several, each with a root of
// its own.
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

// The location of the tree's nodes among the lines of PM: from kNodes to below 2 * kNodes.
constexpr std::uint64_t kNodes = std::uint64_t{1} << 54;
constexpr unsigned kNodeNumberBits = 48;  // bits of a node's number on its level

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
  using Roots = std::map<std::uint64_t, std::uint64_t>;  // roots of trees that aren't all zero

  // `levels`: number of levels of hashes, including the leaves' and the root.
  explicit MerkleTree(std::uint32_t levels);

  std::uint32_t levels() const { return levels_; }
  // Changes the contents of a leaf. Its hashes are computed on the next query.
  void update(std::uint64_t leaf, const LineData& contents) { changed_[leaf] = contents; }
  const Roots& roots();
  // Returns a node at that number of levels above the leaves, at least one. Its number is the
  // number of its first leaf divided by kArity for each level.
  LineData node(std::uint32_t level, std::uint64_t number);
  LineData node(Line node) { return this->node(level_of(node), number_of(node)); }
  // Returns the nodes above a leaf, the lowest first, as they would be if the leaf had these
  // contents.
  std::vector<std::pair<Line, LineData>> nodes_above(std::uint64_t leaf, const LineData& contents);
  // Returns all nodes that differ from those of an all-zero tree.
  std::vector<Line> all_nodes();

  // Returns the number of the leaf's node on that level.
  static std::uint64_t above(std::uint64_t leaf, std::uint32_t level) {
    return leaf >> (kBitsALevel * level);
  }
  // Returns the lowest level on which both leaves have the same node.
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
  std::vector<std::unordered_map<std::uint64_t, Node>> nodes_;  // nodes of each level from 1 on
  std::unordered_map<std::uint64_t, LineData> changed_;         // leaves that haven't been hashed
  Roots roots_;
};

}  // namespace pmemsim
