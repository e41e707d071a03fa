#include "pmemsim/designs/backend/operation_graph.hpp"

#include <algorithm>
#include <stdexcept>

namespace pmemsim {
OperationGraph::OperationGraph(const std::vector<std::vector<SubOperation>>& operations,
                               Execution execution) {
  for (std::uint32_t operation = 0; operation < operations.size(); ++operation) {
    for (std::uint32_t number = 0; number < operations[operation].size(); ++number) {
      nodes_.push_back({operations[operation][number], operation, number});
    }
  }
  if (nodes_.size() > kMostNodes) throw std::logic_error("more sub-operations than a set holds");
  // Rule 3 (operation_graph.hpp). Every earlier node is a predecessor, since some may be skipped.
  if (execution == Execution::kSerialized) {
    for (std::size_t node = 1; node < nodes_.size(); ++node) nodes_[node].before = set_of(node) - 1;
  } else {
    connect();
  }
  find_inputs();
  find_what_follows();
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    all_ |= set_of(node);
    for (const Inputs known :
         {Inputs{false, false}, Inputs{true, false}, Inputs{false, true}, Inputs{true, true}}) {
      if (nodes_[node].inputs.within(known)) of_inputs_[index(known)] |= set_of(node);
    }
    if (nodes_[node].inputs.data) of_data_ |= set_of(node);
    if (nodes_[node].sub.unless_duplicate) unless_duplicate_ |= set_of(node);
  }
}

// Implements rule 1 (operation_graph.hpp).
void OperationGraph::connect() {
  for (Node& node : nodes_) {
    for (const std::string& name : node.sub.after) {
      const auto found =
          std::ranges::find(nodes_, name, [](const Node& other) { return other.sub.name; });
      if (found != nodes_.end()) {
        node.before |= set_of(static_cast<std::size_t>(found - nodes_.begin()));
      }
    }
  }
}

// Implements rule 2 (operation_graph.hpp). Each round handles the nodes whose predecessors have
// been handled.
void OperationGraph::find_inputs() {
  NodeSet found = 0;
  for (std::size_t left = nodes_.size(); left > 0;) {
    const std::size_t before = left;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      if ((found & set_of(i)) != 0 || (node.before & ~found) != 0) continue;
      node.inputs = node.sub.external;
      for (std::size_t other = 0; other < nodes_.size(); ++other) {
        if ((node.before & set_of(other)) != 0) node.inputs = node.inputs | nodes_[other].inputs;
      }
      found |= set_of(i);
      order_.push_back(i);
      --left;
    }
    if (left == before) throw std::logic_error("sub-operations wait for each other in a circle");
  }
}

// Extends each set until nothing is added any more.
void OperationGraph::find_what_follows() {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    NodeSet from = set_of(node);
    for (NodeSet before = 0; before != from;) {
      before = from;
      for (std::size_t other = 0; other < nodes_.size(); ++other) {
        if ((nodes_[other].before & from) != 0) from |= set_of(other);
      }
    }
    from_.push_back(from);
  }
}

}  // namespace pmemsim
