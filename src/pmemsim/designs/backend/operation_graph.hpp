// The sub-operations of all chosen operations as one graph, and what follows from its edges alone:
// which of them can run side by side, and which before the write comes (Janus, 3.1). No combination
// of operations is treated in any way of its own.
//
//   1  Sub-operations wait for those that they are `after`, whichever operation these belong to.
//      Two without a path between them may run at the same time.
//   2  A sub-operation needs the external inputs of all that it waits for, too: it is
//      address-dependent, data-dependent, or both, and may run as soon as these are known.
//   3  Serialized, operations are as they were before anybody looked inside: one after the other,
//      each in its own order, in the order in which they were chosen.
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

// A set of sub-operations: a bit each.
using NodeSet = std::uint32_t;
constexpr NodeSet set_of(std::size_t node) { return NodeSet{1} << node; }

class OperationGraph {
 public:
  static constexpr std::size_t kMostNodes = 32;

  struct Node {
    SubOperation sub;
    std::uint32_t operation;  // the index of the operation it belongs to
    std::uint32_t number;     // among this one's
    NodeSet before = 0;       // that it waits for
    Inputs inputs{};          // that it needs, by whatever way
  };

  // The sub-operations of each operation, which stand in an order that they can be done in.
  OperationGraph(const std::vector<std::vector<SubOperation>>& operations, Execution execution);

  const std::vector<Node>& nodes() const { return nodes_; }
  NodeSet all() const { return all_; }
  // Those that can be done once all of `done` are, with these inputs.
  NodeSet ready(NodeSet done, Inputs known) const {
    NodeSet ready = 0;
    for (NodeSet left = of_inputs_[index(known)] & ~done; left != 0; left &= left - 1) {
      const auto node = static_cast<std::size_t>(std::countr_zero(left));
      if ((nodes_[node].before & ~done) == 0) ready |= set_of(node);
    }
    return ready;
  }
  // Those that need data, maybe beside the address.
  NodeSet of_data() const { return of_data_; }
  // All of them, each behind those that it waits for.
  std::span<const std::size_t> order() const { return order_; }
  // The node, and all that wait for it, by whatever way.
  NodeSet from(std::size_t node) const { return from_[node]; }
  // Those that fall away for duplicates.
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
  std::array<NodeSet, 4> of_inputs_{};  // those that need no others, by index()
  NodeSet all_ = 0, of_data_ = 0, unless_duplicate_ = 0;
};

}  // namespace pmemsim
