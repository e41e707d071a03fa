// An item in ordinary memory: key, stamp and data, which a thread computes before the region that
// stores them to PM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hints.hpp"
#include "payload.hpp"
#include "pmemsim/pm.h"
#include "workload.hpp"

namespace workload {

// Returns an item's data, which are behind its node; the node has whole lines.
template <class Node>
char* data_of(Node* node) {
  return reinterpret_cast<char*>(node + 1);
}
template <class Node>
const char* data_of(const Node* node) {
  return reinterpret_cast<const char*>(node + 1);
}

class NewItem {
 public:
  explicit NewItem(std::uint64_t data_bytes)
      : bytes_(data_bytes), lines_(padded(data_bytes) / PM_LINE_BYTES) {}

  std::uint64_t data_bytes() const { return bytes_; }

  std::uint64_t key = 0, stamp = 0;  // in this order, as in every node

  void make(const Payload& payload, std::uint64_t new_key, std::uint64_t new_stamp) {
    key = new_key;
    stamp = new_stamp;
    payload.fill(lines_.data(), key, stamp);
  }

  // Janus: announces the data as soon as they are known. The buffer is aligned to lines as the data
  // will be in PM, so this needs no address (figure 8a, line 4).
  void announce_data() {
    pm_pre_init(&hint_);
    pm_pre_data(&hint_, lines_.data(), bytes_);
  }

  // Janus: the address completes the request, before the region waits for its log (figure 8a, line
  // 8).
  template <class Node>
  void announce_address(const Node* node) const {
    pm_pre_addr(&hint_, data_of(node), bytes_);
  }

  // Allocates a node with space for the data, which store_data() writes behind it.
  template <class Node>
  Node* allocate(pm_pool* pool) const {
    Node* node = static_cast<Node*>(require(pm_alloc(pool, sizeof(Node) + bytes_)));
    if constexpr (kHints) announce_address(node);
    return node;
  }

  template <class Node>
  void store_data(Node* node) const {
    std::memcpy(data_of(node), lines_.data(), bytes_);
  }

 private:
  struct alignas(PM_LINE_BYTES) Line {
    char bytes[PM_LINE_BYTES];
  };

  std::uint64_t bytes_;
  std::vector<Line> lines_;
  pm_pre hint_{};
};

}  // namespace workload
