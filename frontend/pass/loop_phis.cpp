#include "loop_phis.hpp"

#include <llvm/IR/Dominators.h>

namespace pmemsim::pass {

LoopPhis::LoopPhis(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    functions_.emplace_back(llvm::DominatorTree(function));
    for (const llvm::Loop* loop : functions_.back().getLoopsInPreorder()) add(*loop);
  }
}

void LoopPhis::add(const llvm::Loop& loop) {
  for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
    LoopPhi& added = phis_[&phi];
    added.loop = &loop;
    for (const llvm::BasicBlock* from : phi.blocks()) added.rounds.push_back(loop.contains(from));
  }
}

bool LoopPhis::is_loop_carried(const llvm::PHINode& phi, unsigned incoming) const {
  const auto found = phis_.find(&phi);
  return found != phis_.end() && found->second.rounds[incoming];
}

bool LoopPhis::in_loop_of(const llvm::Instruction* phi, const llvm::BasicBlock& block) const {
  const auto found = phis_.find(phi);
  return found != phis_.end() && found->second.loop->contains(&block);
}

}  // namespace pmemsim::pass
