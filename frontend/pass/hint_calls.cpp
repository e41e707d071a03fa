#include "hint_calls.hpp"

#include <llvm/IR/Module.h>

namespace pmemsim::pass {

void call_hint(llvm::IRBuilder<>& builder, llvm::StringRef name,
               llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::Type*, 4> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  const llvm::FunctionCallee callee = module.getOrInsertFunction(
      (kHintPrefix + name).str(), llvm::FunctionType::get(builder.getVoidTy(), types, false));
  llvm::CallInst* hint = builder.CreateCall(callee, arguments);
  hint->setDoesNotThrow();
  hint->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly() |
                         llvm::MemoryEffects::argMemOnly(name == "init" ? llvm::ModRefInfo::ModRef
                                                                        : llvm::ModRefInfo::Ref));
  hint->addFnAttr(llvm::Attribute::WillReturn);
  hint->addFnAttr(llvm::Attribute::get(hint->getContext(), "call-inline-cost", "0"));
  for (unsigned i = 0; i < arguments.size(); ++i) {
    if (arguments[i]->getType()->isPointerTy()) hint->addParamAttr(i, llvm::Attribute::NoCapture);
  }
}

}  // namespace pmemsim::pass
