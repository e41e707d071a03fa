#include "pmemsim/designs/backend/merkle_tree.hpp"

#include <cstring>
#include <utility>

namespace pmemsim {

MerkleTree::MerkleTree(std::uint32_t levels) : levels_(levels), hash_("SHA1"), nodes_(levels) {
  of_zero_.push_back(0);  // hash of a zero leaf
  for (std::uint32_t level = 1; level < levels; ++level) {
    Node node;
    node.fill(of_zero_.back());
    of_zero_.push_back(hash(node));
  }
}

std::uint64_t MerkleTree::hash(std::uint64_t leaf, const LineData& contents) const {
  if (contents == LineData{}) return of_zero_.front();
  return hash_.of(std::as_bytes(std::span(&leaf, 1)), contents);
}

std::uint64_t MerkleTree::hash(const Node& node) const {
  return hash_.of(std::as_bytes(std::span(node)), {});
}

MerkleTree::Node& MerkleTree::find(std::uint32_t level, std::uint64_t number) {
  const auto [found, is_new] = nodes_[level].try_emplace(number);
  if (is_new) found->second.fill(of_zero_[level - 1]);
  return found->second;
}

// Computes hashes level by level, so that nodes shared by many leaves are hashed once.
void MerkleTree::work_out() {
  std::unordered_map<std::uint64_t, std::uint64_t> hashes;
  // The map is replaced, since clearing it takes time in proportion to its largest size.
  for (const auto& [leaf, contents] : std::exchange(changed_, {})) {
    hashes[leaf] = hash(leaf, contents);
  }
  for (std::uint32_t level = 1; level < levels_ && !hashes.empty(); ++level) {
    std::set<std::uint64_t> above;
    for (const auto& [number, hash] : hashes) {
      find(level, number / kArity)[number % kArity] = hash;
      above.insert(number / kArity);
    }
    hashes.clear();
    for (const std::uint64_t number : above) hashes[number] = hash(find(level, number));
  }
  for (const auto& [tree, root] : hashes) {
    if (root == of_zero_.back()) {
      roots_.erase(tree);
    } else {
      roots_[tree] = root;
    }
  }
}

const MerkleTree::Roots& MerkleTree::roots() {
  work_out();
  return roots_;
}

LineData MerkleTree::line_of(const Node& node) {
  LineData line;
  std::memcpy(line.data(), node.data(), sizeof node);
  return line;
}

LineData MerkleTree::node(std::uint32_t level, std::uint64_t number) {
  work_out();
  return line_of(find(level, number));
}

std::vector<std::pair<Line, LineData>> MerkleTree::nodes_above(std::uint64_t leaf,
                                                               const LineData& contents) {
  work_out();
  std::vector<std::pair<Line, LineData>> nodes;
  std::uint64_t below = hash(leaf, contents);
  for (std::uint32_t level = 1; level < levels_; ++level) {
    Node node = find(level, above(leaf, level));
    node[above(leaf, level - 1) % kArity] = below;
    nodes.emplace_back(node_above(leaf, level), line_of(node));
    below = hash(node);
  }
  return nodes;
}

std::vector<Line> MerkleTree::all_nodes() {
  work_out();
  std::vector<Line> nodes;
  for (std::uint32_t level = 1; level < levels_; ++level) {
    for (const auto& [number, _] : nodes_[level]) nodes.push_back(node_line(level, number));
  }
  return nodes;
}

}  // namespace pmemsim
