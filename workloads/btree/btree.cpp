// btree: B-trees of nodes with up to seven keys.
//
// One region: takes a random key out of twice as many as there are items at the start; if it is
// there, gives its item new data, otherwise inserts it, splitting full nodes on the way down. The
// region plans its changes on copies of the nodes (common/plan.hpp) and declares them at once:
// three fences.
//
// In PM: Root {Header header; Tree tree[kTrees]}, Tree being a line whose first word is the address
// of the top node (never 0). Node {u32 count, u32 leaf; u64 key[7]; u64 item[7]; u64 unused;
// u64 child[8]} with addresses: of the item of key[i], and, unless leaf is 1, of the children below
// key[0], between key[0] and key[1], ... Item {u64 key, stamp; from byte 64 on: the data}. Key k is
// in tree k % kTrees; keys are below 2 * header.items. The data are word(key, stamp, index) of
// the payload (common/payload.hpp).
//
// Locks: one a tree.
#include <mutex>
#include <vector>

#include "plan.hpp"
#include "workload.hpp"

namespace {

class BTrees {
 public:
  static constexpr workload::About kAbout = {
      "btree",
      "Inserts an item into one of 32 B-trees, or updates one that is there, in every atomic\n"
      "region; the key says in which tree. --data-bytes is the size of an item's value.",
      20000};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 2 * options.items);
  }

  BTrees(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kTrees) {
    workload::describe(root_->header, kAbout, options);
    for (Tree& tree : root_->tree) {
      tree.top = static_cast<Node*>(workload::require(pm_alloc(pool, sizeof(Node))));
      *tree.top = {};
      tree.top->leaf = 1;
      pm_flush(tree.top, sizeof(Node));
    }
    pm_flush(root_, sizeof *root_);
    pm_durable();

    workload::Random random(options.seed, 0);
    Thread thread(options.data_bytes);
    for (std::uint64_t items = 0; items < options.items;) {
      const std::uint64_t key = random.below(keys()), stamp = random.next();
      items += put(key, stamp, thread);
    }
    workload::set_ready(root_->header);
  }

  explicit BTrees(pm_pool* pool)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kTrees) {}

  workload::Tally run(const workload::Work& work) {
    workload::Random random(work.seed, work.thread + 1);
    Thread thread(data_bytes());
    workload::Tally tally;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const std::uint64_t key = random.below(keys());
      tally.added += put(key, random.next(), thread);
    }
    return tally;
  }

  workload::Check check() const {
    std::uint64_t items = 0;
    for (std::uint64_t tree = 0; tree < kTrees; ++tree) {
      Walk walk{tree, "", 0};
      check_subtree(root_->tree[tree].top, 0, keys(), true, walk);
      if (!walk.problem.empty()) return {"tree " + std::to_string(tree) + ": " + walk.problem};
      items += walk.items;
    }
    return {"", items};
  }

 private:
  static constexpr std::uint64_t kTrees = 32;
  static constexpr std::uint32_t kKeys = 7;    // at most
  static constexpr std::uint32_t kMiddle = 3;  // the key that a split moves up
  // A node other than the top has at least kMiddle keys.

  struct alignas(PM_LINE_BYTES) Item {
    std::uint64_t key, stamp;

    char* data() { return reinterpret_cast<char*>(this + 1); }
    const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  };

  // A line of keys, a line of items, a line of children: a search reads the first and the last.
  struct alignas(PM_LINE_BYTES) Node {
    std::uint32_t count, leaf;
    std::uint64_t key[kKeys];
    Item* item[kKeys];
    std::uint64_t unused;
    Node* child[kKeys + 1];

    // The first key that is not below the given one.
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

  // What a thread reuses from region to region.
  struct Thread {
    explicit Thread(std::uint64_t data_bytes) : data(data_bytes) {}
    std::vector<char> data;
    workload::Plan<Node> plan;
  };

  std::uint64_t data_bytes() const { return root_->header.data_bytes; }
  std::uint64_t keys() const { return 2 * root_->header.items; }

  // True if the key is new.
  bool put(std::uint64_t key, std::uint64_t stamp, Thread& thread) {
    root_->header.payload().fill(thread.data.data(), key, stamp);
    const std::uint64_t tree = key % kTrees;
    const std::lock_guard lock(locks_[tree]);
    pm_begin(pool_);
    Item* item = find(root_->tree[tree].top, key);
    const bool is_new = !item;
    if (is_new)
      insert(root_->tree[tree], key, stamp, thread);
    else
      update(item, stamp, thread.data);
    pm_end();
    return is_new;
  }

  static Item* find(const Node* node, std::uint64_t key) {
    while (true) {
      const std::uint32_t i = node->position(key);
      if (i < node->count && node->key[i] == key) return node->item[i];
      if (node->leaf) return nullptr;
      node = node->child[i];
    }
  }

  static void update(Item* item, std::uint64_t stamp, const std::vector<char>& data) {
    const pm_range ranges[] = {{&item->stamp, sizeof item->stamp}, {item->data(), data.size()}};
    pm_log_ranges(ranges, 2);
    item->stamp = stamp;
    std::memcpy(item->data(), data.data(), data.size());
  }

  void insert(Tree& tree, std::uint64_t key, std::uint64_t stamp, Thread& thread) {
    Item* item =
        static_cast<Item*>(workload::require(pm_alloc(pool_, sizeof(Item) + thread.data.size())));
    Node* top = tree.top;
    if (top->count == kKeys) top = grow(top, thread.plan);
    insert_below(top, key, item, thread.plan);

    const bool new_top = tree.top != top;
    if (new_top) thread.plan.declare(&tree.top, sizeof tree.top);
    thread.plan.execute();
    if (new_top) tree.top = top;
    *item = {key, stamp};
    std::memcpy(item->data(), thread.data.data(), thread.data.size());
  }

  Node* new_node() { return static_cast<Node*>(workload::require(pm_alloc(pool_, sizeof(Node)))); }

  // Puts a new top above a full one, and splits that.
  Node* grow(Node* top, workload::Plan<Node>& plan) {
    Node* above = new_node();
    plan.create(above).child[0] = top;
    split(above, 0, plan);
    return above;
  }

  // `node` is not full, and no node on the way down stays so (Cormen et al., section 18.2).
  void insert_below(Node* node, std::uint64_t key, Item* item, workload::Plan<Node>& plan) {
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

  // Shifts what is at and behind `position` and puts the key there.
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
  void split(Node* parent_node, std::uint32_t position, workload::Plan<Node>& plan) {
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

  struct Walk {
    std::uint64_t tree;
    std::string problem;
    std::uint64_t items;
  };

  // Checks a subtree whose keys must be from `low` to below `high`; returns its height. Stops at
  // the first problem.
  unsigned check_subtree(const Node* node, std::uint64_t low, std::uint64_t high, bool is_top,
                         Walk& walk) const {
    if (node->count > kKeys || (!is_top && node->count < kMiddle)) {
      walk.problem = "a node has " + std::to_string(node->count) + " keys";
      return 0;
    }
    unsigned height = 0;
    for (std::uint32_t i = 0; i <= node->count && walk.problem.empty(); ++i) {
      const std::uint64_t end = i < node->count ? node->key[i] : high;
      if (end < low || end > high || (i < node->count && end == high))
        walk.problem = "key " + std::to_string(end) + " is out of order";
      else if (i < node->count)
        check_item(*node->item[i], node->key[i], walk);
      if (!node->leaf && walk.problem.empty()) {
        const unsigned below = check_subtree(node->child[i], low, end, false, walk);
        if (i > 0 && below != height && walk.problem.empty())
          walk.problem = "its leaves are at different depths";
        height = below;
      }
      low = end + 1;
    }
    return height + 1;
  }

  void check_item(const Item& item, std::uint64_t key, Walk& walk) const {
    if (item.key != key || key % kTrees != walk.tree)
      walk.problem = "key " + std::to_string(key) + " has another key's item";
    else if (!root_->header.payload().matches(item.data(), item.key, item.stamp))
      walk.problem = "the data of key " + std::to_string(key) + " are incomplete";
    ++walk.items;
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<BTrees>(argc, argv); }
