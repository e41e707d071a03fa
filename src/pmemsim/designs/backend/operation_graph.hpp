// The sub-operations of all chosen operations as one graph. Its edges alone decide which
// sub-operations can run in parallel, and which can run before the write arrives (Janus, 3.1). No
// combination of operations is a special case.
//
//   1  A sub-operation waits for all sub-operations in its `after`, of any operation. Two
//      sub-operations without a path between them may run at the same time.
//   2  A sub-operation also needs the external inputs of all sub-operations that it waits for. It
//      is address-dependent, data-dependent, or both, and may run as soon as these inputs are
//      known.
//   3  Serialized operations run as undivided units, one after the other in the order in which they
//      were chosen. Each executes its sub-operations in its own order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pmemsim/designs/backend/sub_operation.hpp"

namespace pmemsim {

enum class Execution : std::uint8_t { kSerialized, kParallel };

inline std::span<const std::string_view> choice_names(Execution) {
  static constexpr std::string_view kNames[] = {"serialized", "parallel"};
  return kNames;
}

// A set of sub-operations: one bit for each.
using NodeSet = std::uint32_t;
constexpr NodeSet set_of(std::size_t node) { return NodeSet{1} << node; }

class OperationGraph {
 public:
  static constexpr std::size_t kMostNodes = 32;

  struct Node {
    SubOperation sub;
    std::uint32_t operation;  // index of the operation that it belongs to
    std::uint32_t number;     // number among this operation's sub-operations
    NodeSet before = 0;       // nodes that it waits for
    Inputs inputs{};          // inputs that it needs, directly or indirectly
  };

  // `operations`: the sub-operations of each operation, in an order in which they can be executed.
  OperationGraph(const std::vector<std::vector<SubOperation>>& operations, Execution execution);

  const std::vector<Node>& nodes() const { return nodes_; }
  NodeSet all() const { return all_; }
  // Returns the nodes that can be executed when the nodes in `done` have been, with these inputs.
  NodeSet ready(NodeSet done, Inputs known) const {
    NodeSet ready = 0;
    for (NodeSet left = of_inputs_[index(known)] & ~done; left != 0; left &= left - 1) {
      const auto node = static_cast<std::size_t>(std::countr_zero(left));
      if ((nodes_[node].before & ~done) == 0) ready |= set_of(node);
    }
    return ready;
  }
  // Returns the nodes that need data, alone or together with the address.
  NodeSet of_data() const { return of_data_; }
  // Returns all nodes, each after those that it waits for.
  std::span<const std::size_t> order() const { return order_; }
  // Returns the node, and all that wait for it directly or indirectly.
  NodeSet from(std::size_t node) const { return from_[node]; }
  // Returns the nodes that are skipped for duplicates.
  NodeSet unless_duplicate() const { return unless_duplicate_; }

 private:
  static std::size_t index(Inputs known) {
    return (known.address ? 1u : 0u) | (known.data ? 2u : 0u);
  }
  void connect();
  void find_inputs();
  void find_what_follows();

  std::vector<Node> nodes_;
  std::vector<std::size_t> order_;
  std::vector<NodeSet> from_;
  std::array<NodeSet, 4> of_inputs_{};  // nodes that need no other inputs, by index()
  NodeSet all_ = 0, of_data_ = 0, unless_duplicate_ = 0;
};

}  // namespace pmemsim
