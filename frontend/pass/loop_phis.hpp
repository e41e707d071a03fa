// The phis at the heads of loops, and which of their incoming values come from the previous
// iteration. The analysis must run before the pass inserts anything into the module.
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <deque>

namespace pmemsim::pass {

class LoopPhis {
 public:
  explicit LoopPhis(llvm::Module& module);

  bool contains(const llvm::PHINode& phi) const { return phis_.contains(&phi); }
  bool is_loop_carried(const llvm::PHINode& phi, unsigned incoming) const;
  // True if the block belongs to the loop whose head contains `phi`; false if it isn't such a phi.
  bool in_loop_of(const llvm::Instruction* phi, const llvm::BasicBlock& block) const;

 private:
  struct LoopPhi {
    const llvm::Loop* loop;
    llvm::BitVector rounds;  // by incoming value: it comes from the previous iteration
  };

  void add(const llvm::Loop& loop);

  std::deque<llvm::LoopInfo> functions_;
  llvm::DenseMap<const llvm::Instruction*, LoopPhi> phis_;
};

}  // namespace pmemsim::pass
