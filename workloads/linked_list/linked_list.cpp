// linked_list: persistent linked lists whose pointers are changed directly, without a log.
//
// One operation draws a random key. At the start, half of the keys have an item. If it isn't in its
// list, an item is inserted at the head: the node is made durable, then the head is switched to it,
// two fences. If it is there, its node is, with even odds, removed, one fence, or replaced by a
// node with new data, two fences (common/chains.hpp).
//
// In PM: Root {Header header; u64 nodes, node_count, node_bytes; from byte 128 on Head
// head[kLists]}, where Head is a line whose first word is the address of the list's first node or
// 0. nodes is the address of all nodes, free ones too. Node {u64 next, key, stamp; from byte 64 on:
// the data}, where next is 0 at the end. Key k is in list k % kLists; keys are below header.keys().
// The data are word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: one a list.
#include "chains.hpp"

namespace {

class LinkedLists {
 public:
  static constexpr workload::About kAbout = {
      "linked_list",
      "Inserts an item at the head of one of 64 linked lists, or updates or removes one that is\n"
      "there, by switching a pointer; the key says in which list. --regions counts such\n"
      "operations. --data-bytes is the size of an item's value.",
      2048};
  static constexpr bool kRegions = false;
  static constexpr bool kRemoves = true;
  static constexpr bool kReads = false;
  static constexpr bool kPmweaver = false;
  static constexpr std::uint64_t kLists = 64;
  static constexpr std::size_t kLocks = kLists;

  using Node = workload::ChainNode;
  using Scratch = workload::Chains::Scratch;

  struct alignas(PM_LINE_BYTES) Head {
    Node* first;
  };

  struct Root {
    workload::Header header;
    workload::NodeArray nodes;
    Head head[kLists];
  };

  LinkedLists(pm_pool* pool, Root* root) : pool_(pool), root_(root), chains_(&root->nodes) {}

  void create(const workload::Options&) { chains_.create(pool_, root_->header); }

  void take_over() {
    chains_.take_over(root_->header);
    for (const Head& head : root_->head) chains_.claim(head.first);
    chains_.free_unclaimed();
  }

  std::size_t lock_of(std::uint64_t key) const { return key % kLists; }

  workload::Tally execute(const workload::Operation& item, Scratch& cache) {
    return chains_.execute(&root_->head[item.key % kLists].first, item, cache);
  }

  void check(workload::Census& census) const {
    for (std::uint64_t list = 0; list < kLists; ++list)
      chains_.check(root_->head[list].first, census,
                    [&](std::uint64_t key) { return key % kLists == list; });
  }

 private:
  pm_pool* pool_;
  Root* root_;
  workload::Chains chains_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<workload::Map<LinkedLists>>(argc, argv); }
