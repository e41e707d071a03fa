// Calls of pm.h's pre-execution hints that the compiler inserts.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace pmemsim::pass {

// pm_pre_NAME(arguments), where the builder stands. To the optimiser it reads what it is told of,
// and has an effect that nothing sees; nor does it make a function too large to be inlined.
void call_hint(llvm::IRBuilder<>& builder, llvm::StringRef name,
               llvm::ArrayRef<llvm::Value*> arguments);

}  // namespace pmemsim::pass
