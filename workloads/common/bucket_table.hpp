// The buckets of a chained hash table: a fixed number of links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pmemsim/pm.h"
#include "random.hpp"
#include "workload.hpp"

namespace workload {

// A part of the root object in PM: {u64 count; u64 first}; first is the address of `count` words,
// each the address of a chain's first node or 0. A key's bucket is mix(key) % count.
template <class Node>
struct BucketTable {
  std::uint64_t count;
  Node** first;

  void create(pm_pool* pool, std::uint64_t buckets) {
    const std::uint64_t bytes = buckets * sizeof(Node*);
    count = buckets;
    first = static_cast<Node**>(require(pm_alloc(pool, bytes)));
    std::memset(first, 0, bytes);
    pm_flush(first, bytes);
  }

  std::uint64_t index_of(std::uint64_t key) const { return mix(key) % count; }
  Node** of(std::uint64_t key) const { return &first[index_of(key)]; }

  // The eight buckets of one line share a lock, and so does every kLocks-th line.
  static constexpr std::size_t kLocks = 1024;
  std::size_t lock_of(std::uint64_t key) const {
    return index_of(key) / (PM_LINE_BYTES / sizeof(Node*)) % kLocks;
  }
};

}  // namespace workload
