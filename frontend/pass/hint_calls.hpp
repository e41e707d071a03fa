// Calls of pm.h's pre-execution hints, and those that the compiler inserts.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace pmemsim::pass {

inline constexpr llvm::StringRef kHintPrefix = "pm_pre_";
inline bool is_hint(llvm::StringRef function) { return function.starts_with(kHintPrefix); }

// Calls pm_pre_NAME(arguments) at the builder's position. For the optimiser the call reads the
// memory of its arguments, and has an invisible effect. It doesn't make a function too large to be
// inlined.
void call_hint(llvm::IRBuilder<>& builder, llvm::StringRef name,
               llvm::ArrayRef<llvm::Value*> arguments);

}  // namespace pmemsim::pass
