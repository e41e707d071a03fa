#include "copies.hpp"

#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>

#include <cmath>
#include <utility>

#include "library_costs.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Value;
using trace::SiteKind;

// Inserts calls of the runtime in place of copying functions, at the builder's position.
class Copier {
 public:
  explicit Copier(Recorder& recorder) : recorder_(recorder), builder_(recorder.builder()) {}

  Value* copy(llvm::StringRef function, Value* to, Value* from, Value* bytes) {
    const std::uint32_t sites = copy_sites(recorder_, to, from, nullptr);
    return recorder_.call(function, sites,
                          {to, from, builder_.CreateZExtOrTrunc(bytes, builder_.getInt64Ty())},
                          builder_.getPtrTy());
  }

  Value* fill(Value* to, Value* byte, Value* bytes) {
    const std::uint32_t sites = copy_sites(recorder_, to, nullptr, byte);
    return recorder_.call("memset", sites,
                          {to, builder_.CreateZExtOrTrunc(byte, builder_.getInt32Ty()),
                           builder_.CreateZExtOrTrunc(bytes, builder_.getInt64Ty())},
                          builder_.getPtrTy());
  }

  // Returns the library function's result.
  Value* insert_copy_for(llvm::CallBase& call, LibraryCall library) {
    Value* first = call.getArgOperand(0);
    Value* second = call.getArgOperand(1);
    Value* third = call.arg_size() > 2 ? call.getArgOperand(2) : nullptr;
    Value* one = builder_.getInt64(1);
    switch (library) {
      case LibraryCall::kMemcpy:
        return copy("memcpy", first, second, third);
      case LibraryCall::kMempcpy:
        copy("memcpy", first, second, third);
        return plus(first, third);
      case LibraryCall::kMemmove:
        return copy("memmove", first, second, third);
      case LibraryCall::kBcopy:
        return copy("memmove", second, first, third);
      case LibraryCall::kMemset:
        return fill(first, second, third);
      case LibraryCall::kBzero:
        return fill(first, builder_.getInt32(0), second);
      case LibraryCall::kStrcpy:
        return copy("memcpy", first, second,
                    builder_.CreateAdd(length_call("strlen", second), one));
      case LibraryCall::kStpcpy: {
        Value* length = length_call("strlen", second);
        copy("memcpy", first, second, builder_.CreateAdd(length, one));
        return plus(first, length);
      }
      case LibraryCall::kStrcat: {
        Value* end = plus(first, length_call("strlen", first));
        copy("memcpy", end, second, builder_.CreateAdd(length_call("strlen", second), one));
        return first;
      }
      case LibraryCall::kStrncpy: {
        Value* limit = builder_.CreateZExtOrTrunc(third, builder_.getInt64Ty());
        Value* length = length_call("strnlen", {second, limit});
        copy("memcpy", first, second, length);
        fill(plus(first, length), builder_.getInt32(0), builder_.CreateSub(limit, length));
        return first;
      }
      case LibraryCall::kStrncat: {
        Value* limit = builder_.CreateZExtOrTrunc(third, builder_.getInt64Ty());
        Value* end = plus(first, length_call("strlen", first));
        Value* length = length_call("strnlen", {second, limit});
        copy("memcpy", end, second, length);
        fill(plus(end, length), builder_.getInt32(0), one);
        return first;
      }
      case LibraryCall::kOther:
        break;
    }
    llvm_unreachable("not a copying function");
  }

 private:
  // Calls the C library's function of that name; its own accesses are not recorded.
  Value* length_call(llvm::StringRef function, llvm::ArrayRef<Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 2> parameters;
    for (Value* argument : arguments) parameters.push_back(argument->getType());
    return builder_.CreateCall(
        recorder_.context().module.getOrInsertFunction(
            function, llvm::FunctionType::get(builder_.getInt64Ty(), parameters, false)),
        arguments);
  }

  Value* plus(Value* pointer, Value* bytes) {
    return builder_.CreatePtrAdd(pointer, builder_.CreateZExtOrTrunc(bytes, builder_.getInt64Ty()));
  }

  Recorder& recorder_;
  llvm::IRBuilder<>& builder_;
};

// Counts the library function's instructions, except those of the copy's recorded accesses.
void count_call(Recorder& recorder, llvm::StringRef function) {
  if (const LibraryCost* cost = library_cost(function)) recorder.count(cost->constant);
}

}  // namespace

std::uint32_t copy_sites(Recorder& recorder, Value* to, Value* from, Value* data) {
  const std::uint32_t first = recorder.add(recorder.site(SiteKind::kExecute));
  // A fill does not use the site of its load.
  Site load = recorder.access(SiteKind::kCopyLoad, from != nullptr ? from : to, nullptr, 0);
  Site store = recorder.access(SiteKind::kCopyStore, to, data, 0);
  load.instructions = store.instructions = 1;
  const std::uint32_t load_number = recorder.add(std::move(load));
  if (from != nullptr) store.copied_from = load_number;
  recorder.add(std::move(store));
  return first;
}

void replace_memory_intrinsic(Recorder& recorder, llvm::MemIntrinsic& intrinsic) {
  auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&intrinsic);
  if (!is_ordinary_memory(intrinsic.getDest()) ||
      (transfer != nullptr && !is_ordinary_memory(transfer->getSource()))) {
    return;
  }
  // The instructions counted for this call include the loads and stores into which LLVM expands a
  // short copy. They are subtracted, since the recorded loads and stores of the copy have counts of
  // their own.
  if (auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(intrinsic.getLength());
      bytes != nullptr && !recorder.context().counts.of(intrinsic).calls) {
    const double segments =
        std::ceil(static_cast<double>(bytes->getZExtValue()) / trace::kCopyBytes);
    recorder.count(-segments * (transfer != nullptr ? 2 : 1));
  } else {
    count_call(recorder, transfer != nullptr ? "memcpy" : "memset");
  }
  recorder.builder().SetInsertPoint(&intrinsic);
  Copier copier(recorder);
  if (transfer == nullptr) {
    copier.fill(intrinsic.getDest(), llvm::cast<llvm::MemSetInst>(intrinsic).getValue(),
                intrinsic.getLength());
  } else {
    copier.copy(llvm::isa<llvm::MemMoveInst>(intrinsic) ? "memmove" : "memcpy", intrinsic.getDest(),
                transfer->getSource(), intrinsic.getLength());
  }
  intrinsic.eraseFromParent();
}

void replace_library_copy(Recorder& recorder, llvm::CallBase& original, LibraryCall library) {
  llvm::CallBase* call = &original;
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(call)) call = llvm::changeToCall(invoke);
  recorder.builder().SetInsertPoint(call);
  count_call(recorder, call->getCalledFunction()->getName());
  Value* result = Copier(recorder).insert_copy_for(*call, library);
  if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(result);
  call->eraseFromParent();
}

}  // namespace pmemsim::pass
