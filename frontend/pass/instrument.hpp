// Inserts the calls that record a program: every memory access, atomic, copy, flush, fence and
// conditional branch, and how many machine instructions stand between them.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>

namespace pmemsim::pass {

// Returns whether the module was changed. `level` is the one it is going to be compiled at.
bool instrument(llvm::Module& module, llvm::CodeGenOptLevel level);

}  // namespace pmemsim::pass
