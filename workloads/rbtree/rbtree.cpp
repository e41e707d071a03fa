// rbtree: red-black trees.
//
// One region: takes a random key out of twice as many as there are items at the start. If the key
// isn't there, inserts it; if it is, updates or deletes it with even odds. The region plans its
// changes on copies of the nodes (common/plan.hpp) and declares them at once: three fences.
//
// In PM: Root {Header header; Tree tree[kTrees]}, Tree being a line whose first word is the address
// of the top node or 0. Node {u64 key, stamp, parent, left, right; u64 red; from byte 64 on: the
// data}, with addresses or 0. Key k is in tree k % kTrees; keys are below 2 * header.items. The
// data are word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: one a tree.
#include <mutex>
#include <vector>

#include "plan.hpp"
#include "workload.hpp"

namespace {

class RedBlackTrees {
 public:
  static constexpr workload::About kAbout = {
      "rbtree",
      "Inserts, updates or deletes an item in one of 32 red-black trees in every atomic region; "
      "the\n"
      "key says in which. --data-bytes is the size of an item's value.",
      20000};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 2 * options.items);
  }

  RedBlackTrees(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kTrees) {
    workload::describe(root_->header, kAbout, options);
    workload::Random random(options.seed, 0);
    Thread thread(options.data_bytes);
    for (std::uint64_t items = 0; items < options.items;) {
      const Operation operation{random.below(keys()), random.next(), false};
      items += execute(operation, thread).added;
    }
    workload::set_ready(root_->header);
  }

  explicit RedBlackTrees(pm_pool* pool)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kTrees) {}

  workload::Tally run(const workload::Work& work) {
    workload::Random random(work.seed, work.thread + 1);
    Thread thread(data_bytes());
    workload::Tally sum;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const std::uint64_t key = random.below(keys()), stamp = random.next();
      const workload::Tally one = execute({key, stamp, random.below(2) == 0}, thread);
      sum.added += one.added;
      sum.removed += one.removed;
    }
    return sum;
  }

  workload::Check check() const {
    std::uint64_t items = 0;
    for (std::uint64_t tree = 0; tree < kTrees; ++tree) {
      Walk walk{tree, 0, keys(), "", 0};
      if (is_red(root_->tree[tree].top)) walk.problem = "its top is red";
      check_subtree(root_->tree[tree].top, nullptr, walk);
      if (!walk.problem.empty()) return {"tree " + std::to_string(tree) + ": " + walk.problem};
      items += walk.items;
    }
    return {"", items};
  }

 private:
  static constexpr std::uint64_t kTrees = 32;

  struct alignas(PM_LINE_BYTES) Node {
    std::uint64_t key, stamp;
    Node *parent, *left, *right;
    std::uint64_t red;

    char* data() { return reinterpret_cast<char*>(this + 1); }
    const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  };

  struct alignas(PM_LINE_BYTES) Tree {
    Node* top;
  };

  struct Root {
    workload::Header header;
    Tree tree[kTrees];
  };

  struct Operation {
    std::uint64_t key, stamp;
    bool remove;  // rather than update, if the key is there
  };

  // What a thread reuses from region to region.
  struct Thread {
    explicit Thread(std::uint64_t data_bytes) : data(data_bytes) {}
    std::vector<char> data;
    workload::Plan<Node> plan;
  };

  std::uint64_t data_bytes() const { return root_->header.data_bytes; }
  std::uint64_t keys() const { return 2 * root_->header.items; }

  workload::Tally execute(const Operation& operation, Thread& thread) {
    root_->header.payload().fill(thread.data.data(), operation.key, operation.stamp);
    const std::uint64_t tree = operation.key % kTrees;
    const std::lock_guard lock(locks_[tree]);
    pm_begin(pool_);
    Node *node = root_->tree[tree].top, *parent = nullptr;
    while (node && node->key != operation.key) {
      parent = node;
      node = operation.key < node->key ? node->left : node->right;
    }
    workload::Tally tally;
    if (!node) {
      insert(root_->tree[tree], parent, operation, thread);
      tally.added = 1;
    } else if (operation.remove) {
      remove(root_->tree[tree], node, thread);
      tally.removed = 1;
    } else {
      update(node, operation.stamp, thread.data);
    }
    pm_end();
    return tally;
  }

  void insert(Tree& tree, Node* parent, const Operation& operation, Thread& thread) {
    Node* node =
        static_cast<Node*>(workload::require(pm_alloc(pool_, sizeof(Node) + thread.data.size())));
    thread.plan.create(node) = {operation.key, operation.stamp, parent, nullptr, nullptr, 1};
    Change change{thread.plan, tree.top};
    change.attach(parent, operation.key, node);
    change.repair_insertion(node);
    change.execute(tree);
    std::memcpy(node->data(), thread.data.data(), thread.data.size());
  }

  void remove(Tree& tree, Node* node, Thread& thread) {
    pm_free(pool_, node);
    Change change{thread.plan, tree.top};
    change.remove(node);
    change.execute(tree);
  }

  static void update(Node* node, std::uint64_t stamp, const std::vector<char>& data) {
    const pm_range ranges[] = {{&node->stamp, sizeof node->stamp}, {node->data(), data.size()}};
    pm_log_ranges(ranges, 2);
    node->stamp = stamp;
    std::memcpy(node->data(), data.data(), data.size());
  }

  // The algorithms (Cormen et al., chapter 13), on the copies of a plan. No node stands for an
  // empty subtree, which is black.
  struct Change {
    workload::Plan<Node>& plan;
    Node* top;

    bool red(const Node* node) const { return node && plan[node].red; }
    void set_red(Node* node, bool red) {
      if (plan[node].red != red) plan.edit(node).red = red;
    }
    Node* child(const Node* node, bool right) const {
      return right ? plan[node].right : plan[node].left;
    }
    void set_child(Node* node, bool right, Node* child) {
      (right ? plan.edit(node).right : plan.edit(node).left) = child;
    }
    bool is_right(const Node* node) const { return plan[plan[node].parent].right == node; }

    void execute(Tree& tree) {
      const bool new_top = tree.top != top;
      if (new_top) plan.declare(&tree.top, sizeof tree.top);
      plan.execute();
      if (new_top) tree.top = top;
    }

    void attach(Node* parent, std::uint64_t key, Node* node) {
      if (parent)
        set_child(parent, key > plan[parent].key, node);
      else
        top = node;
    }

    // Puts `other` (or nothing) where `node` hangs from its parent.
    void replace(Node* node, Node* other) {
      Node* parent = plan[node].parent;
      if (parent)
        set_child(parent, is_right(node), other);
      else
        top = other;
      if (other) plan.edit(other).parent = parent;
    }

    // The node goes down to the given side; its other child takes its place.
    void rotate(Node* node, bool right) {
      Node* riser = child(node, !right);
      Node* between = child(riser, right);
      set_child(node, !right, between);
      if (between) plan.edit(between).parent = node;
      replace(node, riser);
      set_child(riser, right, node);
      plan.edit(node).parent = riser;
    }

    void repair_insertion(Node* node) {
      while (red(plan[node].parent)) {
        Node* parent = plan[node].parent;
        Node* grandparent = plan[parent].parent;
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
      set_red(top, false);
    }

    void remove(Node* node) {
      bool removed_black = !plan[node].red;
      Node *hole, *parent;  // the subtree that lost a node, and what it hangs from
      if (!plan[node].left || !plan[node].right) {
        hole = plan[node].left ? plan[node].left : plan[node].right;
        parent = plan[node].parent;
        replace(node, hole);
      } else {
        Node* next = plan[node].right;
        while (plan[next].left) next = plan[next].left;
        removed_black = !plan[next].red;
        hole = plan[next].right;
        if (plan[next].parent == node) {
          parent = next;
        } else {
          parent = plan[next].parent;
          replace(next, hole);
          set_child(next, true, plan[node].right);
          plan.edit(plan[node].right).parent = next;
        }
        replace(node, next);
        set_child(next, false, plan[node].left);
        plan.edit(plan[node].left).parent = next;
        set_red(next, plan[node].red);
      }
      if (removed_black) repair_removal(hole, parent);
    }

    // The subtree `node` below `parent`, possibly empty, lacks one black node.
    void repair_removal(Node* node, Node* parent) {
      while (parent && !red(node)) {
        const bool right = plan[parent].right == node;
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
          parent = plan[node].parent;
          continue;
        }
        if (!red(child(sibling, !right))) {
          set_red(child(sibling, right), false);
          set_red(sibling, true);
          rotate(sibling, !right);
          sibling = child(parent, !right);
        }
        set_red(sibling, plan[parent].red);
        set_red(parent, false);
        set_red(child(sibling, !right), false);
        rotate(parent, right);
        return;
      }
      if (node) set_red(node, false);
    }
  };

  // The keys that a subtree may have: from `low` to below `high`.
  struct Walk {
    std::uint64_t tree, low, high;
    std::string problem;
    std::uint64_t items;
  };

  static bool is_red(const Node* node) { return node && node->red; }

  // Returns the number of black nodes on every path down. Stops at the first problem.
  std::uint64_t check_subtree(const Node* node, const Node* parent, Walk& walk) const {
    if (!node || !walk.problem.empty()) return 0;
    const std::string name = "key " + std::to_string(node->key);
    if (node->parent != parent)
      walk.problem = name + " has the wrong parent";
    else if (node->key < walk.low || node->key >= walk.high || node->key % kTrees != walk.tree)
      walk.problem = name + " is out of order";
    else if (is_red(node) && is_red(parent))
      walk.problem = name + " and its parent are red";
    else if (!root_->header.payload().matches(node->data(), node->key, node->stamp))
      walk.problem = "the data of " + name + " are incomplete";
    if (!walk.problem.empty()) return 0;

    ++walk.items;
    const std::uint64_t low = walk.low, high = walk.high;
    walk.high = node->key;
    const std::uint64_t left = check_subtree(node->left, node, walk);
    walk.low = node->key + 1;
    walk.high = high;
    const std::uint64_t right = check_subtree(node->right, node, walk);
    walk.low = low;
    if (walk.problem.empty() && left != right)
      walk.problem = "the paths below " + name + " differ in black nodes";
    return left + !is_red(node);
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<RedBlackTrees>(argc, argv); }
