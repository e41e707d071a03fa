// btree: B-trees of nodes with up to seven keys.
//
// One region draws a random key. At the start, half of the keys have an item. If the key is there,
// its item gets new data; otherwise it is inserted, and full nodes on the path down are split. The
// region plans its changes on copies of the nodes (common/plan.hpp) and declares them at once:
// three fences.
//
// In PM: Root {Header header; Tree tree[kTrees]}, where Tree is a line whose first word is the
// address of the top node (never 0). Node {u32 count, u32 leaf; u64 key[7]; u64 item[7]; u64
// unused; u64 child[8]} with addresses: of the item of key[i], and, unless leaf is 1, of the
// children below key[0], between key[0] and key[1], ... Item {u64 key, stamp; from byte 64 on: the
// data}. Key k is in tree k % kTrees; keys are below header.keys(). The data are word(key, stamp,
// index) of the payload (common/payload.hpp).
//
// Locks: one a tree.
#include "map.hpp"
#include "plan.hpp"

namespace {

class BTrees : public workload::Trees {
 public:
  static constexpr workload::About kAbout = {
      "btree",
      "Inserts an item into one of 32 B-trees, or updates one that is there, in every atomic\n"
      "region; the key says in which tree. --data-bytes is the size of an item's value.",
      20000};

  struct alignas(PM_LINE_BYTES) Item {
    std::uint64_t key, stamp;
  };

  static constexpr std::uint32_t kKeys = 7;    // keys in a full node
  static constexpr std::uint32_t kMiddle = 3;  // the key that a split moves up
  // A node other than the top has at least kMiddle keys.

  // Three lines for keys, items and children: a search reads the first and the last.
  struct alignas(PM_LINE_BYTES) Node {
    std::uint32_t count, leaf;
    std::uint64_t key[kKeys];
    Item* item[kKeys];
    std::uint64_t unused;
    Node* child[kKeys + 1];

    // Returns the index of the first key that is not below the given one.
    std::uint32_t position(std::uint64_t wanted) const {
      std::uint32_t i = 0;
      while (i < count && key[i] < wanted) ++i;
      return i;
    }
  };
  static_assert(sizeof(Node) == 3 * PM_LINE_BYTES);

  struct alignas(PM_LINE_BYTES) Tree {
    Node* top;
  };

  struct Root {
    workload::Header header;
    Tree tree[kTrees];
  };

  using Scratch = workload::Plan<Node>;

  BTrees(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  void create(const workload::Options&) {
    for (Tree& tree : root_->tree) {
      tree.top = static_cast<Node*>(workload::require(pm_alloc(pool_, sizeof(Node))));
      *tree.top = {};
      tree.top->leaf = 1;
      pm_flush(tree.top, sizeof(Node));
    }
  }

  workload::Tally execute(const workload::Operation& operation, Scratch& plan) {
    Tree& tree = root_->tree[operation.key % kTrees];
    Item* item = find(tree.top, operation.key);
    return item ? operation.update(item) : insert(tree, operation, plan);
  }

  void check(workload::Census& census) const {
    for (std::uint64_t tree = 0; tree < kTrees; ++tree)
      check_subtree(root_->tree[tree].top, {tree, 0, census.keys()}, true, census);
  }

 private:
  static Item* find(const Node* node, std::uint64_t key) {
    while (true) {
      const std::uint32_t i = node->position(key);
      if (i < node->count && node->key[i] == key) return node->item[i];
      if (node->leaf) return nullptr;
      node = node->child[i];
    }
  }

  workload::Tally insert(Tree& tree, const workload::Operation& operation, Scratch& plan) {
    Item* item = operation.allocate<Item>(pool_);
    // Janus: announces the item's own line; the plan announces the nodes' lines.
    if constexpr (workload::kHints)
      workload::announce(item, &operation.key, 2 * sizeof operation.key);
    Node* top = tree.top;
    if (top->count == kKeys) top = grow(top, plan);
    insert_below(top, operation.key, item, plan);

    const bool new_top = tree.top != top;
    if (new_top) plan.declare(&tree.top, top);
    plan.execute();
    if (new_top) tree.top = top;
    *item = {operation.key, operation.stamp};
    operation.store_data(item);
    return workload::kAdded;
  }

  Node* new_node() { return static_cast<Node*>(workload::require(pm_alloc(pool_, sizeof(Node)))); }

  // Adds a new top above a full one, and splits the full one.
  Node* grow(Node* top, Scratch& plan) {
    Node* above = new_node();
    plan.create(above).child[0] = top;
    split(above, 0, plan);
    return above;
  }

  // Inserts below `node`, which isn't full; splits full nodes on the path (Cormen et al., 18.2).
  void insert_below(Node* node, std::uint64_t key, Item* item, Scratch& plan) {
    while (!plan[node].leaf) {
      std::uint32_t i = plan[node].position(key);
      if (plan[plan[node].child[i]].count == kKeys) {
        split(node, i, plan);
        if (key > plan[node].key[i]) ++i;
      }
      node = plan[node].child[i];
    }
    Node& leaf = plan.edit(node);
    make_room(leaf, leaf.position(key), key, item);
  }

  // Shifts the entries at and behind `position` and puts the key there.
  static void make_room(Node& node, std::uint32_t position, std::uint64_t key, Item* item) {
    for (std::uint32_t i = node.count; i > position; --i) {
      node.key[i] = node.key[i - 1];
      node.item[i] = node.item[i - 1];
    }
    node.key[position] = key;
    node.item[position] = item;
    ++node.count;
  }

  // Splits the full child number `position` of a node that is not full.
  void split(Node* parent_node, std::uint32_t position, Scratch& plan) {
    Node* right_node = new_node();
    Node& parent = plan.edit(parent_node);
    Node& left = plan.edit(parent.child[position]);
    Node& right = plan.create(right_node);
    right.leaf = left.leaf;
    right.count = kKeys - kMiddle - 1;
    for (std::uint32_t i = 0; i < right.count; ++i) {
      right.key[i] = left.key[kMiddle + 1 + i];
      right.item[i] = left.item[kMiddle + 1 + i];
    }
    if (!left.leaf)
      for (std::uint32_t i = 0; i <= right.count; ++i) right.child[i] = left.child[kMiddle + 1 + i];
    left.count = kMiddle;

    for (std::uint32_t i = parent.count; i > position; --i) parent.child[i + 1] = parent.child[i];
    parent.child[position + 1] = right_node;
    make_room(parent, position, left.key[kMiddle], left.item[kMiddle]);
  }

  // The keys that a subtree may have: keys of one tree, from `low` to below `high`.
  struct Keys {
    std::uint64_t tree, low, high;
  };

  // Checks a subtree and returns its height.
  unsigned check_subtree(const Node* node, Keys keys, bool is_top, workload::Census& census) const {
    if (node->count > kKeys || (!is_top && node->count < kMiddle)) {
      census.report("a node has " + std::to_string(node->count) + " keys");
      return 0;
    }
    unsigned height = 0;
    for (std::uint32_t i = 0; i <= node->count && census.whole(); ++i) {
      const bool last = i == node->count;
      const std::uint64_t end = last ? keys.high : node->key[i];
      if (!last)
        census.add(node->item[i], node->item[i]->key == end && end >= keys.low && end < keys.high &&
                                      end % kTrees == keys.tree);
      if (!node->leaf && census.whole()) {
        const unsigned below =
            check_subtree(node->child[i], {keys.tree, keys.low, end}, false, census);
        if (i > 0 && below != height) census.report("the leaves are at different depths");
        height = below;
      }
      keys.low = end + 1;
    }
    return height + 1;
  }

  pm_pool* pool_;
  Root* root_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<workload::Map<BTrees>>(argc, argv); }
