// rbtree: red-black trees.
//
// One region: takes a random key out of twice as many as there are items at the start. If the key
// isn't there, inserts it; if it is, updates or deletes it with even odds. The region plans its
// changes on copies of the nodes (common/plan.hpp) and declares them at once: three fences. The
// trees' algorithms are in common/red_black_tree.hpp.
//
// In PM: Root {Header header; Tree tree[kTrees]}, Tree being a line whose first word is the address
// of the top node or 0. Node {u64 key, stamp, parent, left, right; u64 red; from byte 64 on: the
// data}, with addresses or 0. Key k is in tree k % kTrees; keys are below 2 * header.items. The
// data are word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: one a tree.
#include <mutex>
#include <vector>

#include "red_black_tree.hpp"
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
      const workload::RedBlackCheck check(root_->tree[tree], [&](const Node& node) -> std::string {
        if (node.key % kTrees != tree || node.key >= keys()) return "doesn't belong there";
        const bool whole = root_->header.payload().matches(node.data(), node.key, node.stamp);
        return whole ? "" : "has incomplete data";
      });
      if (!check.problem().empty())
        return {"tree " + std::to_string(tree) + ": " + check.problem()};
      items += check.nodes();
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

  using Tree = workload::RedBlackTree<Node>;

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
    const auto [node, parent] = workload::find(root_->tree[tree], operation.key);
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
    workload::RedBlackChange<Node> change(thread.plan, tree);
    change.insert(node, parent);
    change.execute();
    std::memcpy(node->data(), thread.data.data(), thread.data.size());
  }

  void remove(Tree& tree, Node* node, Thread& thread) {
    pm_free(pool_, node);
    workload::RedBlackChange<Node> change(thread.plan, tree);
    change.remove(node);
    change.execute();
  }

  static void update(Node* node, std::uint64_t stamp, const std::vector<char>& data) {
    const pm_range ranges[] = {{&node->stamp, sizeof node->stamp}, {node->data(), data.size()}};
    pm_log_ranges(ranges, 2);
    node->stamp = stamp;
    std::memcpy(node->data(), data.data(), data.size());
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<RedBlackTrees>(argc, argv); }
