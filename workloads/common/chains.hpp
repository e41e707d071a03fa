// Chains of nodes without a log or regions: every change takes effect by one store of a pointer,
// which is atomic in PM. A new node is durable before a pointer leads to it (two fences). An item
// is updated by a new node that replaces the old one; unlinking a node takes one fence. So the
// chains are intact at every point, and a crash leaves at most one unreachable node.
//
// In PM: Node {u64 next, key, stamp; from byte 64 on: the data}, where next is the address of the
// next node or 0.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hints.hpp"
#include "map.hpp"
#include "node_pool.hpp"

namespace workload {

struct alignas(PM_LINE_BYTES) ChainNode {
  ChainNode* next;
  std::uint64_t key, stamp;
};

class Chains {
 public:
  using Node = ChainNode;
  using Scratch = NodePool::Cache;

  explicit Chains(NodeArray* nodes) : nodes_(nodes) {}

  void create(pm_pool* pool, const Header& header) {
    data_bytes_ = header.data_bytes;
    nodes_.create(pool, std::max(2 * header.items, header.keys()),
                  sizeof(Node) + padded(data_bytes_));
  }

  // Begins a take-over; claim() for every chain and free_unclaimed() must follow.
  void take_over(const Header& header) {
    data_bytes_ = header.data_bytes;
    nodes_.take_over();
  }

  void claim(const Node* node) {
    while (node && nodes_.claim(node)) node = node->next;
  }

  void free_unclaimed() { nodes_.free_unclaimed(); }

  // Returns the item's node in the chain, or null.
  static Node* find(Node* node, std::uint64_t key) {
    while (node && node->key != key) node = node->next;
    return node;
  }

  Tally execute(Node** head, const Operation& item, Scratch& cache) {
    Node** link = head;
    while (*link && (*link)->key != item.key) link = &(*link)->next;
    Node* old = *link;
    if (!old) {
      link_new(head, *head, item, cache);
      return kAdded;
    }
    if (item.remove)
      set(link, old->next);
    else
      link_new(link, old->next, item, cache);
    nodes_.give(cache, old);
    return item.remove ? kRemoved : kUpdated;
  }

  // Adds a missing item at the chain's end. The search for the end is behind the first fence.
  Tally append(Node** link, const Operation& item, Scratch& cache) {
    Node* node = new_node(nullptr, item, cache);
    while (*link) link = &(*link)->next;
    if constexpr (kHints) announce_pointer(link, node);
    set(link, node);
    return kAdded;
  }

  // Checks a chain. `belongs(key)` is true if the key may be in this chain.
  template <class Belongs>
  void check(const Node* node, Census& census, Belongs belongs) const {
    for (; node && census.whole(); node = node->next)
      if (nodes_.holds(node))
        census.add(node, belongs(node->key));
      else
        census.report("a link leads to no node");
  }

 private:
  void link_new(Node** link, Node* next, const Operation& item, Scratch& cache) {
    Node* node = static_cast<Node*>(nodes_.take(cache));
    if constexpr (kHints) {
      item.announce_address(node);
      announce_pointer(link, node);
    }
    *node = {next, item.key, item.stamp};
    item.store_data(node);
    pm_flush(node, sizeof *node + data_bytes_);
    pm_order();
    set(link, node);
  }

  Node* new_node(Node* next, const Operation& item, Scratch& cache) {
    Node* node = static_cast<Node*>(nodes_.take(cache));
    if constexpr (kHints) {
      pm_pre fields;
      pm_pre_init(&fields);
      pm_pre_both_buf(&fields, &node->next, &next, sizeof next);
      pm_pre_both_buf(&fields, &node->key, &item.key, 2 * sizeof item.key);
      pm_pre_start_buf(&fields);
      item.announce_address(node);
    }
    *node = {next, item.key, item.stamp};
    item.store_data(node);
    pm_flush(node, sizeof *node + data_bytes_);
    pm_order();
    return node;
  }

  static void set(Node** link, Node* node) {
    *link = node;
    pm_flush(link, sizeof *link);
    pm_durable();
  }

  NodePool nodes_;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace workload
