// A transaction may abort at any time, so a program must have another path. Recording takes that
// path: a processor's transaction would leave no records if it aborts, and its isolation has no
// record if it commits. The processor need not have transactions either.
#include "transactions.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

#include "recorder.hpp"

namespace pmemsim::pass {
namespace {

constexpr std::uint64_t kAbortedForUnknownReason = 0;  // a retry need not succeed

bool is_of_transaction(const llvm::Instruction& instruction) {
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (intrinsic == nullptr) return false;
  switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::x86_xbegin:
    case llvm::Intrinsic::x86_xend:
    case llvm::Intrinsic::x86_xabort:
    case llvm::Intrinsic::x86_xtest:
      return true;
    default:
      return false;
  }
}

bool begins(const llvm::IntrinsicInst& intrinsic) {
  return intrinsic.getIntrinsicID() == llvm::Intrinsic::x86_xbegin;
}

void abort_transaction(llvm::IntrinsicInst& intrinsic, RuntimeCalls& runtime) {
  if (begins(intrinsic)) {
    llvm::IRBuilder<> builder(&intrinsic);
    warn_partial(runtime, builder, *intrinsic.getModule(),
                 own_line(intrinsic.getDebugLoc().get(), *intrinsic.getFunction()),
                 "'_xbegin' always aborts, so that only the path without a transaction is "
                 "recorded");
  }
  if (!intrinsic.getType()->isVoidTy()) {
    intrinsic.replaceAllUsesWith(
        llvm::ConstantInt::get(intrinsic.getType(), kAbortedForUnknownReason));
  }
  intrinsic.eraseFromParent();
}

}  // namespace

void abort_transactions(llvm::Module& module, RuntimeCalls& runtime) {
  std::vector<llvm::IntrinsicInst*> found;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (is_of_transaction(instruction)) {
        found.push_back(llvm::cast<llvm::IntrinsicInst>(&instruction));
      }
    }
  }
  for (llvm::IntrinsicInst* intrinsic : found) abort_transaction(*intrinsic, runtime);
}

}  // namespace pmemsim::pass
