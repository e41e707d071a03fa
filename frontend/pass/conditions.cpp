#include "conditions.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <cstdint>
#include <vector>

namespace pmemsim::pass {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// Conditions that are connected by the same operator, in the order of their evaluation.
struct Conditions {
  bool by_and;
  std::vector<Value*> all;
};

// True if the value is a logical "and" or "or" in this block that has one use. Then sets its kind
// and its operands.
bool is_connected(Value* value, const BasicBlock* block, bool& by_and, Value*& left,
                  Value*& right) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !instruction->hasOneUse() || instruction->getParent() != block) {
    return false;
  }
  using namespace llvm::PatternMatch;
  by_and = match(instruction, m_LogicalAnd(m_Value(left), m_Value(right)));
  return by_and || match(instruction, m_LogicalOr(m_Value(left), m_Value(right)));
}

void collect(Value* value, const BasicBlock* block, Conditions& conditions) {
  bool by_and = false;
  Value *left = nullptr, *right = nullptr;
  if (!is_connected(value, block, by_and, left, right) || by_and != conditions.by_and) {
    conditions.all.push_back(value);
    return;
  }
  collect(left, block, conditions);
  collect(right, block, conditions);
}

void add_edge(BasicBlock* from, BasicBlock* like, BasicBlock* to) {
  for (llvm::PHINode& phi : to->phis()) phi.addIncoming(phi.getIncomingValueForBlock(like), from);
}

void split(llvm::BranchInst& branch, const Conditions& conditions) {
  BasicBlock* const first = branch.getParent();
  BasicBlock* const then = branch.getSuccessor(0);
  BasicBlock* const otherwise = branch.getSuccessor(1);
  BasicBlock* const next = first->getNextNode();
  llvm::IRBuilder<> builder(&branch);
  BasicBlock* block = first;
  for (std::size_t i = 0; i < conditions.all.size(); ++i) {
    const bool last = i + 1 == conditions.all.size();
    BasicBlock* rest =
        last ? nullptr : BasicBlock::Create(first->getContext(), "", first->getParent(), next);
    BasicBlock* if_true = conditions.by_and && !last ? rest : then;
    BasicBlock* if_false = !conditions.by_and && !last ? rest : otherwise;
    builder.CreateCondBr(conditions.all[i], if_true, if_false);
    if (block != first) {
      if (if_true == then) add_edge(block, first, then);
      if (if_false == otherwise) add_edge(block, first, otherwise);
    }
    block = rest;
    if (rest != nullptr) builder.SetInsertPoint(rest);
  }
  // The first branch has lost one of its edges.
  for (llvm::PHINode& phi : (conditions.by_and ? then : otherwise)->phis()) {
    phi.removeIncomingValue(first, false);
  }
  Value* connected = branch.getCondition();
  branch.eraseFromParent();
  if (auto* unused = llvm::dyn_cast<llvm::Instruction>(connected)) {
    llvm::RecursivelyDeleteTriviallyDeadInstructions(unused);
  }
}

}  // namespace

bool split_conditions(llvm::ArrayRef<llvm::Function*> functions, const MachineCounts& counts) {
  bool any = false;
  for (llvm::Function* function : functions) {
    std::vector<BasicBlock*> blocks;
    for (BasicBlock& block : *function) blocks.push_back(&block);
    for (BasicBlock* block : blocks) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (branch == nullptr || !branch->isConditional() ||
          branch->getSuccessor(0) == branch->getSuccessor(1)) {
        continue;
      }
      Conditions conditions{};
      Value *left = nullptr, *right = nullptr;
      if (!is_connected(branch->getCondition(), block, conditions.by_and, left, right)) continue;
      collect(branch->getCondition(), block, conditions);
      if (counts.of(*branch).branches != conditions.all.size()) continue;
      split(*branch, conditions);
      any = true;
    }
  }
  return any;
}

}  // namespace pmemsim::pass
