// skiplist: skip lists, as PMDK's skiplist_map.
//
// One region draws a random key. At the start, half of the keys have an item. If it is there, its
// item gets new data; otherwise an item is inserted: on level 0, with odds 1/2 on level 1 too, and
// so on. The ranges are declared at once: three fences.
//
// In PM: Root {Header header; Node head[kTrees]}. Node {u64 key, stamp; u64 next[kLevels]; from
// byte 64 on, unless it is a head: the data}. next[l] is the address of the next node on level l,
// in ascending order of keys, or 0. A node is on all levels below some height; level 0 has all
// nodes. A head's key and stamp mean nothing. Key k is in list k % kTrees; keys are below
// header.keys(). The data are word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: one a list.
#include <algorithm>
#include <array>
#include <bit>

#include "map.hpp"

namespace {

class SkipLists : public workload::Trees {
 public:
  static constexpr workload::About kAbout = {
      "skiplist",
      "Inserts an item into one of 32 skip lists, or updates one that is there, in every atomic\n"
      "region; the key says in which list. --data-bytes is the size of an item's value.",
      20000};
  static constexpr unsigned kLevels = 6;  // the number that fits into the line

  struct alignas(PM_LINE_BYTES) Node {
    std::uint64_t key, stamp;
    Node* next[kLevels];
  };
  static_assert(sizeof(Node) == PM_LINE_BYTES);

  struct Root {
    workload::Header header;
    Node head[kTrees];
  };

  SkipLists(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  workload::Tally execute(const workload::Operation& item, Scratch&) {
    const Path path = find(&root_->head[item.key % kTrees], item.key);
    Node* node = path[0]->next[0];
    return node && node->key == item.key ? item.update(node) : insert(path, item);
  }

  void check(workload::Census& census) const {
    for (std::uint64_t list = 0; list < kTrees; ++list) {
      const Node* head = &root_->head[list];
      const Node* previous = nullptr;
      for (const Node* node = head->next[0]; node && census.whole(); node = node->next[0]) {
        census.add(node, node->key % kTrees == list && (!previous || previous->key < node->key));
        previous = node;
      }
      if (census.whole()) check_levels(head, census);
    }
  }

 private:
  // The last node before a key, on every level.
  using Path = std::array<Node*, kLevels>;

  static Path find(Node* node, std::uint64_t key) {
    Path path;
    for (unsigned level = kLevels; level-- > 0;) {
      while (node->next[level] && node->next[level]->key < key) node = node->next[level];
      path[level] = node;
    }
    return path;
  }

  workload::Tally insert(const Path& path, const workload::Operation& item) {
    Node* node = item.allocate<Node>(pool_);
    if constexpr (workload::kHints) workload::announce(node, &item.key, 2 * sizeof item.key);
    // The stamp is random, and so is the number of its trailing zeros.
    const unsigned levels =
        std::min<unsigned>(kLevels, 1 + static_cast<unsigned>(std::countr_zero(item.stamp)));
    std::array<pm_range, kLevels> ranges;
    for (unsigned level = 0; level < levels; ++level) {
      if constexpr (workload::kHints) workload::announce_pointer(&path[level]->next[level], node);
      ranges[level] = {&path[level]->next[level], sizeof(Node*)};
    }
    pm_log_ranges(ranges.data(), levels);

    *node = {item.key, item.stamp, {}};
    for (unsigned level = 0; level < levels; ++level) {
      node->next[level] = path[level]->next[level];
      path[level]->next[level] = node;
    }
    item.store_data(node);
    return workload::kAdded;
  }

  // Checks that each level's nodes are on the level below it, in the same order.
  static void check_levels(const Node* head, workload::Census& census) {
    for (unsigned level = 1; level < kLevels; ++level) {
      const Node* below = head;
      for (const Node* node = head->next[level]; node; node = node->next[level]) {
        while (below && below != node) below = below->next[level - 1];
        if (!below)
          return census.report("level " + std::to_string(level) +
                               " has a node that the level below it hasn't");
      }
    }
  }

  pm_pool* pool_;
  Root* root_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<workload::Map<SkipLists>>(argc, argv); }
