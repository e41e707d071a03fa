// The tree over lines of entries: its hashes by hand, and that its root depends on every leaf.
#include "pmemsim/designs/backend/merkle_tree.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "memory_bench.hpp"

namespace pmemsim {
namespace {

using Hashes = std::array<std::uint64_t, 8>;

std::uint64_t leaf_hash(std::uint64_t leaf, const LineData& contents) {
  return LineHash("SHA1").of(std::as_bytes(std::span(&leaf, 1)), contents);
}
std::uint64_t node_hash(const Hashes& below) {
  return LineHash("SHA1").of(std::as_bytes(std::span(below)), {});
}
LineData line_of(const Hashes& hashes) {
  LineData line;
  std::memcpy(line.data(), hashes.data(), sizeof hashes);
  return line;
}

TEST(MerkleTree, EachNodeHashesEightNodesBelow) {
  MerkleTree tree(3);  // levels: leaves, nodes, root
  tree.update(10, data_of(1));
  tree.update(11, data_of(2));
  Hashes low{};
  low[2] = leaf_hash(10, data_of(1));
  low[3] = leaf_hash(11, data_of(2));
  Hashes high;
  high.fill(node_hash({}));
  high[1] = node_hash(low);
  EXPECT_EQ(tree.node(1, 1), line_of(low));
  EXPECT_EQ(tree.node(2, 0), line_of(high));
  EXPECT_EQ(tree.roots(), (MerkleTree::Roots{{0, node_hash(high)}}));
  EXPECT_EQ(MerkleTree::above(10, 1), 1u);
  EXPECT_EQ(MerkleTree::above(10, 2), 0u);
}

// The nodes above a leaf can be computed before the tree has that leaf.
TEST(MerkleTree, NodesAboveALeafAreComputedBeforeItsWrite) {
  MerkleTree tree(4);
  tree.update(10, data_of(1));
  const auto nodes = tree.nodes_above(11, data_of(2));
  const MerkleTree::Roots before = tree.roots();
  EXPECT_EQ(before.size(), 1u);
  tree.update(11, data_of(2));
  ASSERT_EQ(nodes.size(), 3u);
  for (std::uint32_t level = 1; level <= 3; ++level) {
    const Line node = node_line(level, MerkleTree::above(11, level));
    EXPECT_EQ(nodes[level - 1].first, node);
    EXPECT_EQ(nodes[level - 1].second, tree.node(node)) << level;
    EXPECT_TRUE(is_node(node));
    EXPECT_EQ(level_of(node), level);
    EXPECT_EQ(number_of(node), MerkleTree::above(11, level));
  }
  EXPECT_NE(tree.roots(), before) << "it was as it had been";
  EXPECT_EQ(tree.all_nodes().size(), 3u);
}

TEST(MerkleTree, AllZeroTreeHasNoRoot) {
  MerkleTree tree(4);
  EXPECT_TRUE(tree.roots().empty());
  tree.update(77, data_of(1));
  EXPECT_EQ(tree.roots().size(), 1u);
  tree.update(77, {});
  EXPECT_TRUE(tree.roots().empty());
}

TEST(MerkleTree, EachOfSeveralTreesHasItsOwnRoot) {
  MerkleTree tree(2);  // a tree covers eight leaves
  tree.update(3, data_of(1));
  tree.update(8, data_of(1));
  ASSERT_EQ(tree.roots().size(), 2u);
  EXPECT_TRUE(tree.roots().contains(0) && tree.roots().contains(1));
  EXPECT_NE(tree.roots().at(0), tree.roots().at(1));
}

TEST(MerkleTree, RootsDoNotDependOnTheOrderOfUpdates) {
  std::mt19937_64 random(1);
  MerkleTree step_by_step(5), at_once(5);
  std::map<std::uint64_t, std::uint64_t> contents;
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t leaf = random() % 100, value = random() % 4;
    contents[leaf] = value;
    step_by_step.update(leaf, data_of(value));
    if (i % 7 == 0) step_by_step.roots();
  }
  for (const auto& [leaf, value] : contents) at_once.update(leaf, data_of(value));
  EXPECT_EQ(step_by_step.roots(), at_once.roots());
  at_once.update(5, data_of(1000));
  EXPECT_NE(step_by_step.roots(), at_once.roots());
  step_by_step.update(6, data_of(1000));
  EXPECT_NE(step_by_step.roots(), at_once.roots()) << "it matters which leaf has it";
}

}  // namespace
}  // namespace pmemsim
