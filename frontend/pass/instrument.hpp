// Inserts the calls that record a program: every memory access, atomic, copy, flush, fence and
// conditional branch, and the number of machine instructions between them.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>

namespace pmemsim::pass {

// Returns true if the module was changed. `level` is the optimization level of its compilation.
bool instrument(llvm::Module& module, llvm::CodeGenOptLevel level);

}  // namespace pmemsim::pass
