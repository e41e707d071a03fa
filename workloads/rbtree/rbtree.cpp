// rbtree: red-black trees.
//
// One region draws a random key. At the start, half of the keys have an item. If the key isn't
// there, it is inserted; if it is, it is updated or deleted with even odds. The region plans its
// changes on copies of the nodes (common/plan.hpp) and declares them at once: three fences. The
// trees' algorithms are in common/red_black_tree.hpp.
//
// In PM: Root {Header header; Tree tree[kTrees]}, where Tree is a line whose first word is the
// address of the top node or 0. Node {u64 key, stamp, parent, left, right; u64 red; from byte 64
// on: the data}, with addresses or 0. Key k is in tree k % kTrees; keys are below header.keys().
// The data are word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: one a tree.
#include "map.hpp"
#include "red_black_tree.hpp"

namespace {

class RedBlackTrees : public workload::Trees {
 public:
  static constexpr workload::About kAbout = {
      "rbtree",
      "Inserts, updates or deletes an item in one of 32 red-black trees in every atomic region; "
      "the\n"
      "key says in which. --data-bytes is the size of an item's value.",
      20000};

  static constexpr bool kRemoves = true;

  struct alignas(PM_LINE_BYTES) Node {
    std::uint64_t key, stamp;
    Node *parent, *left, *right;
    std::uint64_t red;
  };

  using Tree = workload::RedBlackTree<Node>;

  struct Root {
    workload::Header header;
    Tree tree[kTrees];
  };

  using Scratch = workload::Plan<Node>;

  RedBlackTrees(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  workload::Tally execute(const workload::Operation& operation, Scratch& plan) {
    Tree& tree = root_->tree[operation.key % kTrees];
    const auto [node, parent] = workload::find(tree, operation.key);
    if (!node) return insert(tree, parent, operation, plan);
    return operation.remove ? remove(tree, node, plan) : operation.update(node);
  }

  void check(workload::Census& census) const {
    for (std::uint64_t tree = 0; tree < kTrees && census.whole(); ++tree) {
      const workload::RedBlackCheck check(root_->tree[tree], [&](const Node& node) {
        census.add(&node, node.key % kTrees == tree);
        return census.result().problem;
      });
      census.report(check.problem());
    }
  }

 private:
  workload::Tally insert(Tree& tree, Node* parent, const workload::Operation& operation,
                         Scratch& plan) {
    Node* node = operation.allocate<Node>(pool_);
    plan.create(node) = {operation.key, operation.stamp, parent, nullptr, nullptr, 1};
    workload::RedBlackChange<Node> change(plan, tree);
    change.insert(node, parent);
    change.execute();
    operation.store_data(node);
    return workload::kAdded;
  }

  workload::Tally remove(Tree& tree, Node* node, Scratch& plan) {
    pm_free(pool_, node);
    workload::RedBlackChange<Node> change(plan, tree);
    change.remove(node);
    change.execute();
    return workload::kRemoved;
  }

  pm_pool* pool_;
  Root* root_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<workload::Map<RedBlackTrees>>(argc, argv); }
