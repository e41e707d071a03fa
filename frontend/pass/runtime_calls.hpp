// Emits calls of the recording runtime (pmemsim_rt.h).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace pmemsim::pass {

class RuntimeCalls {
 public:
  explicit RuntimeCalls(llvm::Module& module) : module_(module) {}

  // Calls pmemsim_rt_<name>, whose parameters have the arguments' types.
  llvm::CallInst* call(llvm::IRBuilder<>& builder, llvm::StringRef name, llvm::Type* result,
                       llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 4> parameters;
    for (llvm::Value* argument : arguments) parameters.push_back(argument->getType());
    llvm::FunctionCallee callee = module_.getOrInsertFunction(
        ("pmemsim_rt_" + name).str(), llvm::FunctionType::get(result, parameters, false));
    llvm::CallInst* call = builder.CreateCall(callee, arguments);
    call->setDoesNotThrow();
    return call;
  }

 private:
  llvm::Module& module_;
};

}  // namespace pmemsim::pass
