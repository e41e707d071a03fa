#include "recurrences.hpp"

#include <llvm/ADT/GraphTraits.h>
#include <llvm/ADT/SCCIterator.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace pmemsim::pass {
namespace {

constexpr unsigned kLeastCycles = 2;

// A load or a recurrence, and those from which its address or its next value is computed.
struct Node {
  const llvm::Instruction* source = nullptr;
  llvm::SmallVector<Node*> from = {};
  llvm::SmallVector<unsigned> cycles = {};  // by index in `from`
};

}  // namespace
}  // namespace pmemsim::pass

template <>
struct llvm::GraphTraits<pmemsim::pass::Node*> {
  using NodeRef = pmemsim::pass::Node*;
  using ChildIteratorType = llvm::SmallVector<NodeRef>::iterator;
  static NodeRef getEntryNode(NodeRef node) { return node; }
  static ChildIteratorType child_begin(NodeRef node) { return node->from.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->from.end(); }
};

namespace pmemsim::pass {
namespace {

// The loads and recurrences of one function. A recurrence is a cycle of nodes without a load.
class Graph {
 public:
  Graph(const llvm::Function& function, const Dependences& dependences) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
      if (phi != nullptr ? dependences.is_recurrence(*phi) : reads_memory(&instruction)) {
        nodes_.push_back({&instruction});
        by_source_[&instruction] = &nodes_.back();
        root_.from.push_back(&nodes_.back());
      }
    }
    for (Node& node : nodes_) {
      if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(node.source)) {
        connect(node, dependences.of_first(*phi));
        connect(node, dependences.of_next(*phi));
        continue;
      }
      for (const llvm::Value* operand : node.source->operands()) {
        connect(node, dependences.of_address(operand));
      }
    }
  }

  void add_recurrences(PhiSet& found) {
    for (auto circle = llvm::scc_begin(&root_); !circle.isAtEnd(); ++circle) {
      if (!is_recurrence(*circle)) continue;
      for (const Node* node : *circle) found.insert(llvm::cast<llvm::PHINode>(node->source));
    }
  }

 private:
  void connect(Node& node, const DependenceSet& set) {
    for (const Dependence& dependence : set) {
      Node* from = by_source_.lookup(dependence.source);
      if (from == nullptr) continue;  // the source is in another function
      node.from.push_back(from);
      node.cycles.push_back(dependence.cycles);
    }
  }

  static bool is_phi(const Node* node) {
    return node->source != nullptr && llvm::isa<llvm::PHINode>(node->source);
  }

  static bool is_recurrence(const std::vector<Node*>& circle) {
    if (!llvm::all_of(circle, is_phi)) return false;
    unsigned most = 0;
    for (const Node* node : circle) {
      for (const auto& [from, cycles] : llvm::zip(node->from, node->cycles)) {
        if (llvm::is_contained(circle, from)) most = std::max(most, cycles);
      }
    }
    return most >= kLeastCycles;
  }

  std::deque<Node> nodes_;
  llvm::DenseMap<const llvm::Instruction*, Node*> by_source_;
  Node root_;  // reaches all nodes
};

}  // namespace

PhiSet find_recurrences(const llvm::Module& module, const LoopPhis& loop_phis) {
  PhiSet all, found;
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
      if (phi != nullptr && loop_phis.contains(*phi)) all.insert(phi);
    }
  }
  const Dependences dependences(module, loop_phis, all);
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) Graph(function, dependences).add_recurrences(found);
  }
  return found;
}

}  // namespace pmemsim::pass
