// Nodes for structures without atomic regions: an array that the set-up allocates. The set of free
// nodes is in ordinary memory only. A thread that takes over a structure claims the reachable
// nodes, and the others are free. So a crash between taking and linking a node, or between
// unlinking and releasing it, doesn't lose the node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "pmemsim/pm.h"
#include "workload.hpp"

namespace workload {

// A part of the root object in PM: address, number and size of the nodes.
struct NodeArray {
  char* first;
  std::uint64_t count, node_bytes;
};

class NodePool {
 public:
  using Cache = std::vector<char*>;  // free nodes that only this thread uses

  explicit NodePool(NodeArray* array) : array_(array) {}

  // Allocates space for `live` nodes in use, in addition to those in caches.
  void create(pm_pool* pool, std::uint64_t live, std::uint64_t node_bytes) {
    const std::uint64_t count = live + PM_MAX_THREADS * kMostCached;
    *array_ = {static_cast<char*>(require(pm_alloc(pool, count * node_bytes))), count, node_bytes};
    take_over();
    free_unclaimed();
  }

  // Begins a take-over, before the nodes in use are claimed.
  void take_over() { claimed_.assign(array_->count, false); }

  // False if there is no such node, or if it was claimed before: then the structure is damaged.
  bool claim(const void* node) {
    if (!holds(node) || claimed_[index_of(node)]) return false;
    return claimed_[index_of(node)] = true;
  }

  // Adds the unclaimed nodes to the free ones; lower addresses are taken first.
  void free_unclaimed() {
    for (std::uint64_t i = array_->count; i-- > 0;)
      if (!claimed_[i]) free_.push_back(array_->first + i * array_->node_bytes);
    claimed_.clear();
  }

  bool holds(const void* node) const {
    const std::uint64_t offset = offset_of(node);
    return offset < array_->count * array_->node_bytes && offset % array_->node_bytes == 0;
  }

  void* take(Cache& cache) {
    if (cache.empty()) {
      const std::lock_guard lock(lock_);
      move(free_, cache);
    }
    void* node = cache.back();
    cache.pop_back();
    return node;
  }

  // Releases a node. No pointer to it may be left, in PM either.
  void give(Cache& cache, void* node) {
    cache.push_back(static_cast<char*>(node));
    if (cache.size() < kMostCached) return;
    const std::lock_guard lock(lock_);
    move(cache, free_);
  }

 private:
  static constexpr std::size_t kMostCached = 16, kMoved = 8;

  static void move(Cache& from, Cache& to) {
    for (std::size_t i = 0; i < kMoved && !from.empty(); ++i) {
      to.push_back(from.back());
      from.pop_back();
    }
  }

  std::uint64_t offset_of(const void* node) const {
    return reinterpret_cast<std::uintptr_t>(node) - reinterpret_cast<std::uintptr_t>(array_->first);
  }
  std::uint64_t index_of(const void* node) const { return offset_of(node) / array_->node_bytes; }

  NodeArray* array_;
  std::vector<bool> claimed_;
  std::mutex lock_;
  Cache free_;
};

}  // namespace workload
