// Lowers every switch to the control flow that the code generator makes of it.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Function.h>
#include <llvm/Target/TargetMachine.h>

namespace pmemsim::pass {

// Replaces each switch of the functions by compares, tests of bits and table jumps. Afterwards each
// switch that is left is a jump through one table. A range check precedes the jump if the default
// block is reachable.
void lower_switches(llvm::ArrayRef<llvm::Function*> functions, const llvm::TargetMachine& machine);

// True if control never reaches the block.
bool is_unreachable(const llvm::BasicBlock& block);

}  // namespace pmemsim::pass
