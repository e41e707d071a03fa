#include "annotated_locks.hpp"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <string>

#include "runtime_calls.hpp"

namespace pmemsim::pass {
namespace {

constexpr llvm::StringLiteral kAcquires = "pmemsim.acquires";
constexpr llvm::StringLiteral kTryAcquires = "pmemsim.try_acquires";
constexpr llvm::StringLiteral kReleases = "pmemsim.releases";

// The annotations of one function, and the source location of the last one.
struct LockFunction {
  bool acquires = false, tries = false, releases = false;
  std::string place;
};
using LockFunctions = llvm::MapVector<llvm::Function*, LockFunction>;

void refuse(const llvm::Function& function, const LockFunction& said, const llvm::Twine& why) {
  function.getContext().emitError(said.place + ": " + llvm::demangle(function.getName().str()) +
                                  " " + why);
}

// The module's list of annotations. An entry has the function, the annotation, file and line.
constexpr llvm::StringLiteral kList = "llvm.global.annotations";

llvm::StringRef annotation_of(const llvm::Constant& entry) {
  llvm::StringRef text;
  llvm::getConstantStringInfo(entry.getOperand(1), text);
  return text;
}

bool is_ours(const llvm::Constant& entry) {
  return entry.getNumOperands() >= 4 && annotation_of(entry).starts_with("pmemsim.");
}

void add_annotation(const llvm::Constant& entry, LockFunctions& functions) {
  auto* function = llvm::dyn_cast<llvm::Function>(entry.getOperand(0)->stripPointerCasts());
  if (function == nullptr || function->isDeclaration()) return;
  LockFunction& said = functions[function];
  llvm::StringRef file;
  llvm::getConstantStringInfo(entry.getOperand(2), file);
  const auto* line = llvm::dyn_cast<llvm::ConstantInt>(entry.getOperand(3));
  said.place = file.str() + ":" + std::to_string(line != nullptr ? line->getZExtValue() : 0);
  const llvm::StringRef annotation = annotation_of(entry);
  if (annotation == kAcquires) {
    said.acquires = true;
  } else if (annotation == kTryAcquires) {
    said.tries = true;
  } else if (annotation == kReleases) {
    said.releases = true;
  } else {
    refuse(*function, said,
           "has the annotation \"" + annotation + "\", which doesn't exist; use PM_ACQUIRES, " +
               "PM_TRY_ACQUIRES or PM_RELEASES of pmemsim/pm.h");
  }
}

// Removes the lock annotations from the list: an entry would keep a function alive that has been
// inlined wherever it is used.
LockFunctions take_annotations(llvm::Module& module) {
  LockFunctions functions;
  llvm::GlobalVariable* list = module.getNamedGlobal(kList);
  if (list == nullptr || !list->hasInitializer()) return functions;
  llvm::SmallVector<llvm::Constant*> others;
  for (const llvm::Use& use : list->getInitializer()->operands()) {
    auto* entry = llvm::cast<llvm::Constant>(use);
    if (is_ours(*entry)) {
      add_annotation(*entry, functions);
    } else {
      others.push_back(entry);
    }
  }
  if (functions.empty()) return functions;
  const std::string section = list->getSection().str();
  list->eraseFromParent();
  if (others.empty()) return functions;
  auto* type = llvm::ArrayType::get(others.front()->getType(), others.size());
  auto* rest = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::AppendingLinkage,
                                        llvm::ConstantArray::get(type, others), kList);
  rest->setSection(section);
  return functions;
}

// Returns the parameter that points to the lock. A structure that is returned or passed in memory
// doesn't count: it is a pointer in the machine code only.
llvm::Argument* lock_of(llvm::Function& function) {
  for (llvm::Argument& argument : function.args()) {
    if (argument.getType()->isPointerTy() && !argument.hasStructRetAttr() &&
        !argument.hasByValAttr()) {
      return &argument;
    }
  }
  return nullptr;
}

bool returns_by_musttail(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function) {
    if (block.getTerminatingMustTailCall() != nullptr) return true;
  }
  return false;
}

bool can_be(llvm::Function& function, const LockFunction& said) {
  const bool acquires = said.acquires || said.tries;
  if (lock_of(function) == nullptr) {
    refuse(function, said,
           "is annotated as a lock's function, but has no parameter that points to the lock; the "
           "lock must be its first pointer parameter");
  } else if (said.acquires && said.tries) {
    refuse(function, said,
           "is annotated with both PM_ACQUIRES and PM_TRY_ACQUIRES; remove PM_ACQUIRES if it may "
           "return without the lock, else PM_TRY_ACQUIRES");
  } else if (said.tries && !function.getReturnType()->isIntegerTy()) {
    refuse(function, said,
           "is annotated with PM_TRY_ACQUIRES, but returns neither a bool nor an integer; let it "
           "return whether it has acquired the lock");
  } else if (function.isPresplitCoroutine() || function.hasFnAttribute(llvm::Attribute::Naked)) {
    refuse(function, said,
           "is annotated as a lock's function, but is a coroutine or naked, so the compiler can't "
           "see its return; annotate its caller or a function that it calls");
  } else if (acquires && returns_by_musttail(function)) {
    refuse(function, said,
           "is annotated as acquiring a lock, but returns by musttail, after which nothing can be "
           "recorded; annotate the called function instead, or remove musttail");
  } else {
    return true;
  }
  return false;
}

// Excludes the call from the inlining cost: the inserted call must not change which functions are
// inlined.
void cost_nothing(llvm::CallInst& call) {
  call.addFnAttr(llvm::Attribute::get(call.getContext(), "call-inline-cost", "0"));
}

void tell(llvm::Function& function, const LockFunction& said, RuntimeCalls& runtime) {
  llvm::Argument* lock = lock_of(function);
  llvm::IRBuilder<> builder(function.getContext());
  for (llvm::BasicBlock& block : function) {
    auto* leaves = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (leaves == nullptr || !(said.acquires || said.tries)) continue;
    builder.SetInsertPoint(leaves);
    llvm::Value* acquired = builder.getInt32(1);
    if (said.tries) {
      acquired = builder.CreateZExt(builder.CreateIsNotNull(leaves->getReturnValue()),
                                    builder.getInt32Ty());
    }
    cost_nothing(*runtime.call(builder, "lock_acquired", builder.getVoidTy(), {lock, acquired}));
  }
  if (said.releases) {
    llvm::BasicBlock& entry = function.getEntryBlock();
    builder.SetInsertPoint(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    cost_nothing(*runtime.call(builder, "lock_released", builder.getVoidTy(), lock));
  }
}

}  // namespace

bool record_annotated_locks(llvm::Module& module) {
  RuntimeCalls runtime(module);
  const LockFunctions functions = take_annotations(module);
  for (const auto& [function, said] : functions) {
    if (can_be(*function, said)) tell(*function, said, runtime);
  }
  return !functions.empty();
}

}  // namespace pmemsim::pass
