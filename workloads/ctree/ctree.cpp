// ctree: crit-bit trees (binary tries that branch at the bits in which keys differ), as PMDK's
// ctree_map.
//
// One region draws a random key. At the start, half of the keys have an item. If the key is there,
// its item gets new data; otherwise an item is inserted and, unless the tree was empty, a node that
// separates it from the others. An insertion changes one word of the tree. The ranges are declared
// at once: three fences.
//
// In PM: Root {Header header; Tree tree[kTrees]}, where Tree is a line whose first word is a link.
// A link is 0 (only in an empty tree), the address of an item, or the address of a node plus 1.
// Node {u64 bit; u64 child[2]}; both children are links: the keys below child[b] have b as bit
// number `bit` (0 is the lowest) and the same higher bits; bit numbers decrease on the path down.
// Item {u64 key, stamp; from byte 64 on: the data}. Key k is in tree k % kTrees; keys are below
// header.keys(). The data are word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: one a tree.
#include <bit>

#include "map.hpp"

namespace {

class CritBitTrees : public workload::Trees {
 public:
  static constexpr workload::About kAbout = {
      "ctree",
      "Inserts an item into one of 32 crit-bit trees, or updates one that is there, in every "
      "atomic\n"
      "region; the key says in which tree. --data-bytes is the size of an item's value.",
      20000};

  struct alignas(PM_LINE_BYTES) Item {
    std::uint64_t key, stamp;
  };

  struct Node;

  // A link to an item, a node or nothing.
  class Link {
   public:
    Link() = default;
    explicit Link(const Item* item) : word_(reinterpret_cast<std::uintptr_t>(item)) {}
    explicit Link(const Node* node) : word_(reinterpret_cast<std::uintptr_t>(node) | kNode) {}

    std::uint64_t word() const { return word_; }
    bool empty() const { return word_ == 0; }
    bool is_node() const { return word_ & kNode; }
    Node* node() const { return reinterpret_cast<Node*>(word_ - kNode); }
    Item* item() const { return reinterpret_cast<Item*>(word_); }

   private:
    static constexpr std::uintptr_t kNode = 1;
    std::uintptr_t word_;
  };

  struct alignas(PM_LINE_BYTES) Node {
    std::uint64_t bit;
    Link child[2];

    Link* towards(std::uint64_t key) { return &child[key >> bit & 1]; }
  };

  struct alignas(PM_LINE_BYTES) Tree {
    Link top;
  };

  struct Root {
    workload::Header header;
    Tree tree[kTrees];
  };

  CritBitTrees(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  workload::Tally execute(const workload::Operation& operation, Scratch&) {
    Link* top = &root_->tree[operation.key % kTrees].top;
    Item* nearest = find(*top, operation.key);
    if (!nearest) return insert_first(top, operation);
    if (nearest->key == operation.key) return operation.update(nearest);
    return insert(top, nearest->key, operation);
  }

  void check(workload::Census& census) const {
    for (std::uint64_t tree = 0; tree < kTrees; ++tree) {
      const Link top = root_->tree[tree].top;
      if (!top.empty()) check_subtree(top, tree, kBits, census);
    }
  }

 private:
  static constexpr std::uint64_t kBits = 64;

  // Returns the item with the key if there is one; otherwise an item with the same bits where the
  // tree branches. Null in an empty tree.
  static Item* find(Link link, std::uint64_t key) {
    while (link.is_node()) link = *link.node()->towards(key);
    return link.item();
  }

  workload::Tally insert_first(Link* top, const workload::Operation& operation) {
    Item* item = allocate_item(operation);
    if constexpr (workload::kHints) workload::announce_value(top, Link(item).word());
    pm_log(top, sizeof *top);
    store_item(item, operation);
    *top = Link(item);
    return workload::kAdded;
  }

  // Inserts an item. `other` is the key of the item to which a search for the new key leads. The
  // new node branches where the two differ, below nodes that branch at higher bits.
  workload::Tally insert(Link* link, std::uint64_t other, const workload::Operation& operation) {
    const std::uint64_t bit = kBits - 1 - std::countl_zero(operation.key ^ other);
    while (link->is_node() && link->node()->bit > bit) link = link->node()->towards(operation.key);

    Item* item = allocate_item(operation);
    Node* node = static_cast<Node*>(workload::require(pm_alloc(pool_, sizeof(Node))));
    if constexpr (workload::kHints) {
      Node copy{.bit = bit, .child = {*link, *link}};
      *copy.towards(operation.key) = Link(item);
      workload::announce(node, &copy, sizeof copy.bit + sizeof copy.child);
      workload::announce_value(link, Link(node).word());
    }
    pm_log(link, sizeof *link);
    store_item(item, operation);
    node->bit = bit;
    *node->towards(operation.key) = Link(item);
    *node->towards(~operation.key) = *link;
    *link = Link(node);
    return workload::kAdded;
  }

  Item* allocate_item(const workload::Operation& operation) {
    Item* item = operation.allocate<Item>(pool_);
    if constexpr (workload::kHints)
      workload::announce(item, &operation.key, 2 * sizeof operation.key);
    return item;
  }

  static void store_item(Item* item, const workload::Operation& operation) {
    *item = {operation.key, operation.stamp};
    operation.store_data(item);
  }

  // Checks a subtree of nodes that branch at bits below `limit`. Returns one of its keys: above the
  // bit at which its top branches, they are the same.
  static std::uint64_t check_subtree(Link link, std::uint64_t tree, std::uint64_t limit,
                                     workload::Census& census) {
    if (!link.is_node()) {
      const Item* item = link.item();
      census.add(item, item->key % kTrees == tree);
      return item->key;
    }
    const Node* node = link.node();
    if (node->bit >= limit) {
      census.report("a node branches at a bit that is not below that of the node above it");
      return 0;
    }
    const std::uint64_t left = check_subtree(node->child[0], tree, node->bit, census);
    if (!census.whole()) return left;
    const std::uint64_t right = check_subtree(node->child[1], tree, node->bit, census);
    if (left >> node->bit != (right >> node->bit & ~std::uint64_t{1}) ||
        (right >> node->bit & 1) == 0)
      census.report("keys " + std::to_string(left) + " and " + std::to_string(right) +
                    " don't part at bit " + std::to_string(node->bit));
    return left;
  }

  pm_pool* pool_;
  Root* root_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<workload::Map<CritBitTrees>>(argc, argv); }
