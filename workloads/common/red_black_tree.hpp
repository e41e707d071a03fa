// Red-black trees in PM (Cormen et al., "Introduction to Algorithms", chapter 13): the search, the
// changes, planned on copies of the nodes (plan.hpp), and the check. An empty subtree is black and
// has no node.
//
// A Node is a line with at least {key; Node *parent, *left, *right; red}, in any order.
#pragma once

#include <cstdint>
#include <string>

#include "plan.hpp"
#include "pmemsim/pm.h"

namespace workload {

// A tree in PM: a line whose first word is the address of the top node, or 0.
template <class Node>
struct alignas(PM_LINE_BYTES) RedBlackTree {
  Node* top;
};

// The location where a search for a key ends.
template <class Node>
struct RedBlackPlace {
  Node* node;    // the node with the key, or null
  Node* parent;  // parent of that node, or of one that would have the key
};

template <class Node>
RedBlackPlace<Node> find(const RedBlackTree<Node>& tree, std::uint64_t key) {
  Node *node = pm_get(tree.top), *parent = nullptr;
  while (node) {
    const std::uint64_t here = pm_get(node->key);
    if (here == key) break;
    parent = node;
    node = key < here ? pm_get(node->left) : pm_get(node->right);
  }
  return {node, parent};
}

// A change of a tree: insert or remove, then execute.
template <class Node>
class RedBlackChange {
 public:
  RedBlackChange(Plan<Node>& plan, RedBlackTree<Node>& tree)
      : plan_(plan), tree_(tree), top_(pm_get(tree.top)) {}

  // Inserts `node`, whose key the tree doesn't have and which was created in the plan: red, without
  // children, below `parent`, where a search for its key ends.
  void insert(Node* node, Node* parent) {
    if (parent)
      set_child(parent, plan_[node].key > plan_[parent].key, node);
    else
      top_ = node;
    repair_insertion(node);
  }

  void remove(Node* node) {
    bool removed_black = !plan_[node].red;
    Node *hole, *parent;  // the subtree that lost a node, and its parent
    if (!plan_[node].left || !plan_[node].right) {
      hole = plan_[node].left ? plan_[node].left : plan_[node].right;
      parent = plan_[node].parent;
      replace(node, hole);
    } else {
      Node* next = plan_[node].right;
      while (plan_[next].left) next = plan_[next].left;
      removed_black = !plan_[next].red;
      hole = plan_[next].right;
      if (plan_[next].parent == node) {
        parent = next;
      } else {
        parent = plan_[next].parent;
        replace(next, hole);
        set_child(next, true, plan_[node].right);
        plan_.edit(plan_[node].right).parent = next;
      }
      replace(node, next);
      set_child(next, false, plan_[node].left);
      plan_.edit(plan_[node].left).parent = next;
      set_red(next, plan_[node].red);
    }
    if (removed_black) repair_removal(hole, parent);
  }

  // Declares the changes, and makes them.
  void execute() {
    const bool new_top = pm_get(tree_.top) != top_;
    if (new_top) plan_.declare(&tree_.top, top_);
    plan_.execute();
    if (new_top) pm_set(tree_.top, top_);
  }

 private:
  bool red(const Node* node) const { return node && plan_[node].red; }
  void set_red(Node* node, bool red) {
    if (plan_[node].red != red) plan_.edit(node).red = red;
  }
  Node* child(const Node* node, bool right) const {
    return right ? plan_[node].right : plan_[node].left;
  }
  void set_child(Node* node, bool right, Node* child) {
    (right ? plan_.edit(node).right : plan_.edit(node).left) = child;
  }
  bool is_right(const Node* node) const { return plan_[plan_[node].parent].right == node; }

  // Replaces `node` below its parent by `other` (or by nothing).
  void replace(Node* node, Node* other) {
    Node* parent = plan_[node].parent;
    if (parent)
      set_child(parent, is_right(node), other);
    else
      top_ = other;
    if (other) plan_.edit(other).parent = parent;
  }

  // Moves the node down to the given side; its other child takes its place.
  void rotate(Node* node, bool right) {
    Node* riser = child(node, !right);
    Node* between = child(riser, right);
    set_child(node, !right, between);
    if (between) plan_.edit(between).parent = node;
    replace(node, riser);
    set_child(riser, right, node);
    plan_.edit(node).parent = riser;
  }

  void repair_insertion(Node* node) {
    while (red(plan_[node].parent)) {
      Node* parent = plan_[node].parent;
      Node* grandparent = plan_[parent].parent;
      const bool right = is_right(parent);
      Node* uncle = child(grandparent, !right);
      if (red(uncle)) {
        set_red(parent, false);
        set_red(uncle, false);
        set_red(grandparent, true);
        node = grandparent;
        continue;
      }
      if (is_right(node) != right) {
        rotate(parent, right);
        parent = node;
      }
      set_red(parent, false);
      set_red(grandparent, true);
      rotate(grandparent, !right);
      break;
    }
    set_red(top_, false);
  }

  // Repairs the subtree `node` below `parent`, possibly empty, which lacks one black node.
  void repair_removal(Node* node, Node* parent) {
    while (parent && !red(node)) {
      const bool right = plan_[parent].right == node;
      Node* sibling = child(parent, !right);
      if (red(sibling)) {
        set_red(sibling, false);
        set_red(parent, true);
        rotate(parent, right);
        sibling = child(parent, !right);
      }
      if (!red(child(sibling, false)) && !red(child(sibling, true))) {
        set_red(sibling, true);
        node = parent;
        parent = plan_[node].parent;
        continue;
      }
      if (!red(child(sibling, !right))) {
        set_red(child(sibling, right), false);
        set_red(sibling, true);
        rotate(sibling, !right);
        sibling = child(parent, !right);
      }
      set_red(sibling, plan_[parent].red);
      set_red(parent, false);
      set_red(child(sibling, !right), false);
      rotate(parent, right);
      return;
    }
    if (node) set_red(node, false);
  }

  Plan<Node>& plan_;
  RedBlackTree<Node>& tree_;
  Node* top_;  // the top according to the plan
};

// Checks that a tree is valid: order, links, colours. `examine` returns any other error of a node,
// or nothing.
template <class Node, class Examine>
class RedBlackCheck {
 public:
  RedBlackCheck(const RedBlackTree<Node>& tree, Examine examine) : examine_(examine) {
    if (is_red(tree.top)) problem_ = "the top is red";
    check_subtree(tree.top, nullptr, 0, UINT64_MAX);
  }

  const std::string& problem() const { return problem_; }  // empty: the tree is intact
  std::uint64_t nodes() const { return nodes_; }

 private:
  static bool is_red(const Node* node) { return node && node->red; }

  // Checks a subtree, which may have the keys from `low` to below `high`. Returns the number of
  // black nodes on every path down. Stops at the first problem.
  std::uint64_t check_subtree(const Node* node, const Node* parent, std::uint64_t low,
                              std::uint64_t high) {
    if (!node || !problem_.empty()) return 0;
    const std::string name = "key " + std::to_string(node->key);
    if (node->parent != parent)
      problem_ = name + " has the wrong parent";
    else if (node->key < low || node->key >= high)
      problem_ = name + " is out of order";
    else if (is_red(node) && is_red(parent))
      problem_ = name + " and its parent are red";
    else if (const std::string why = examine_(*node); !why.empty())
      problem_ = name + " " + why;
    if (!problem_.empty()) return 0;

    ++nodes_;
    const std::uint64_t left = check_subtree(node->left, node, low, node->key);
    const std::uint64_t right = check_subtree(node->right, node, node->key + 1, high);
    if (problem_.empty() && left != right)
      problem_ = "the paths below " + name + " differ in black nodes";
    return left + !is_red(node);
  }

  Examine examine_;
  std::string problem_;
  std::uint64_t nodes_ = 0;
};

}  // namespace workload
