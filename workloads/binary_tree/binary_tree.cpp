// binary_tree: binary search trees without balancing; random keys keep them shallow.
//
// One region draws a random key. At the start, half of the keys have an item. If the key is there,
// its item gets new data; otherwise a new item is inserted where the search ended. The ranges are
// declared at once: three fences.
//
// In PM: Root {Header header; Tree tree[kTrees]}, where Tree is a line whose first word is the
// address of the top node or 0. Node {u64 key, stamp, left, right; from byte 64 on: the data}, with
// addresses or 0. Key k is in tree k % kTrees; keys are below header.keys(). The data are word(key,
// stamp, index) of the payload (common/payload.hpp).
//
// Locks: one a tree.
#include "map.hpp"

namespace {

class BinaryTrees : public workload::Trees {
 public:
  static constexpr workload::About kAbout = {
      "binary_tree",
      "Inserts an item into one of 32 unbalanced binary search trees, or updates one that is "
      "there,\n"
      "in every atomic region; the key says in which tree. --data-bytes is the size of an item's\n"
      "value.",
      20000};

  struct alignas(PM_LINE_BYTES) Node {
    std::uint64_t key, stamp;
    Node *left, *right;
  };

  struct alignas(PM_LINE_BYTES) Tree {
    Node* top;
  };

  struct Root {
    workload::Header header;
    Tree tree[kTrees];
  };

  BinaryTrees(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  workload::Tally execute(const workload::Operation& item, Scratch&) {
    Node** link = find(&root_->tree[item.key % kTrees].top, item.key);
    return *link ? item.update(*link) : insert(link, item);
  }

  void check(workload::Census& census) const {
    for (std::uint64_t tree = 0; tree < kTrees; ++tree)
      check_subtree(root_->tree[tree].top, {tree, 0, census.keys()}, census);
  }

 private:
  // Returns the link that leads to the key's node, or that would lead to it.
  static Node** find(Node** link, std::uint64_t key) {
    while (*link && (*link)->key != key)
      link = key < (*link)->key ? &(*link)->left : &(*link)->right;
    return link;
  }

  workload::Tally insert(Node** link, const workload::Operation& item) {
    Node* node = item.allocate<Node>(pool_);
    if constexpr (workload::kHints) {
      workload::announce(node, &item.key, 2 * sizeof item.key);
      workload::announce_pointer(link, node);
    }
    pm_log(link, sizeof *link);
    *node = {item.key, item.stamp, nullptr, nullptr};
    item.store_data(node);
    *link = node;
    return workload::kAdded;
  }

  // The keys that a subtree may have: keys of one tree, from `low` to below `high`.
  struct Keys {
    std::uint64_t tree, low, high;
  };

  void check_subtree(const Node* node, Keys keys, workload::Census& census) const {
    if (!node || !census.whole()) return;
    const std::uint64_t key = node->key;
    census.add(node, key >= keys.low && key < keys.high && key % kTrees == keys.tree);
    check_subtree(node->left, {keys.tree, keys.low, key}, census);
    check_subtree(node->right, {keys.tree, key + 1, keys.high}, census);
  }

  pm_pool* pool_;
  Root* root_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<workload::Map<BinaryTrees>>(argc, argv); }
