#include "write_backs.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "assembly_effects.hpp"
#include "known_values.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Instruction;
using llvm::Value;
using trace::FenceKind;
using trace::SiteKind;

// A function of pm.h, by its name.
enum class Library { kOther, kFlush, kFence, kBegin, kEnd, kLog, kLogRanges, kAllocate, kHarmless };

Library library_function(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return Library::kOther;
  const auto named = llvm::StringSwitch<Library>(callee->getName())
                         .Case("pm_flush", Library::kFlush)
                         .Cases("pm_order", "pm_durable", Library::kFence)
                         .Case("pm_begin", Library::kBegin)
                         .Case("pm_end", Library::kEnd)
                         .Case("pm_log", Library::kLog)
                         .Case("pm_log_ranges", Library::kLogRanges)
                         .Case("pm_alloc", Library::kAllocate)
                         .Cases("pm_free", "pm_fence_regions", Library::kHarmless)
                         .StartsWith("pm_pre_", Library::kHarmless)
                         .Default(Library::kOther);
  const unsigned arguments = named == Library::kFlush || named == Library::kLog ||
                                     named == Library::kLogRanges || named == Library::kAllocate
                                 ? 2
                                 : 0;
  return call.arg_size() >= arguments ? named : Library::kOther;
}

bool is_flush(llvm::Intrinsic::ID intrinsic) {
  return intrinsic == llvm::Intrinsic::x86_clwb || intrinsic == llvm::Intrinsic::x86_clflushopt ||
         intrinsic == llvm::Intrinsic::x86_sse2_clflush;
}

bool is_store_fence(const AssemblyEffect& effect) {
  return effect.kind == SiteKind::kFence &&
         static_cast<FenceKind>(effect.detail) != FenceKind::kLfence;
}

AssemblySummary assembly_of(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && call->isInlineAsm() ? summarize_assembly(*call) : AssemblySummary{};
}

bool is_fence(const Instruction& instruction) {
  if (const auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
    return fence->getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent &&
           fence->getSyncScopeID() == llvm::SyncScope::System;
  }
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr) return false;
  if (call->isInlineAsm()) return llvm::any_of(assembly_of(*call).effects, is_store_fence);
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::x86_sse_sfence:
    case llvm::Intrinsic::x86_sse2_mfence:
      return true;
    default:
      break;
  }
  switch (library_function(*call)) {
    case Library::kFence:
    case Library::kEnd:
    case Library::kLog:
    case Library::kLogRanges:
      return true;
    default:
      return false;
  }
}

bool calls(const Instruction& instruction, Library function) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && library_function(*call) == function;
}

// True if a path leads from behind `from` to `to`. Neither is in a loop.
bool leads_to(const Instruction& from, const Instruction& to) {
  if (from.getParent() == to.getParent()) return from.comesBefore(&to);
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<const llvm::BasicBlock*> todo{from.getParent()};
  while (!todo.empty()) {
    const llvm::BasicBlock* block = todo.pop_back_val();
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == to.getParent()) return true;
      if (seen.insert(next).second) todo.push_back(next);
    }
  }
  return false;
}

class Finder {
 public:
  Finder(llvm::Function& function, KnownValues& values) : function_(function), values_(values) {}

  WriteBacks find() {
    std::vector<Instruction*> all;  // a copy, because the search may insert instructions
    for (llvm::BasicBlock& block : function_) {
      if (!values_.tree().isReachableFromEntry(&block)) continue;
      for (Instruction& instruction : block) all.push_back(&instruction);
    }
    for (Instruction* instruction : all) {
      if (calls(*instruction, Library::kBegin)) begins_.push_back(instruction);
      if (calls(*instruction, Library::kEnd)) ends_.push_back(instruction);
      if (is_fence(*instruction)) found_.fences.push_back(instruction);
    }
    for (Instruction* instruction : all) visit(*instruction);
    llvm::erase_if(found_.blocking, [&](const WriteBack& it) { return !is_blocking(it); });
    return std::move(found_);
  }

 private:
  void visit(Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr) return;
    if (call->isInlineAsm()) return visit_assembly(*call);
    if (is_flush(call->getIntrinsicID())) return flush(*call, call->getArgOperand(0), nullptr);
    switch (library_function(*call)) {
      case Library::kFlush:
        return flush(*call, call->getArgOperand(0), call->getArgOperand(1));
      case Library::kLog:
        return declare(*call, call->getArgOperand(0), call->getArgOperand(1));
      case Library::kLogRanges:
        return declare_ranges(*call);
      case Library::kAllocate:
        if (is_in_region(*call)) declare(*call, call, call->getArgOperand(1));
        return;
      default:
        return;
    }
  }

  void flush(Instruction& instruction, Value* address, Value* bytes) {
    found_.blocking.push_back({&instruction, &instruction, address, bytes});
  }

  void visit_assembly(llvm::CallBase& assembly) {
    llvm::IRBuilder<> builder(&assembly);
    for (const AssemblyEffect& effect : assembly_of(assembly).effects) {
      if (effect.kind != SiteKind::kFlush) continue;
      Value* address = effect.address;
      if (!address->getType()->isPointerTy()) {
        address = builder.CreateIntToPtr(address, builder.getPtrTy());
      }
      if (effect.index != nullptr) {
        address = builder.CreateGEP(builder.getIntNTy(effect.scale * 8), address, effect.index);
      }
      if (effect.displacement != 0) {
        address = builder.CreatePtrAdd(
            address, builder.getInt64(static_cast<std::uint64_t>(effect.displacement)));
      }
      flush(assembly, address, nullptr);
    }
  }

  // ---- Regions -------------------------------------------------------------------------------

  // Adds a write-back by the region's end, if the function contains that.
  void declare(Instruction& declaration, Value* address, Value* bytes) {
    std::vector<Instruction*> ends;
    for (Instruction* end : ends_) {
      if (leads_to(declaration, *end)) ends.push_back(end);
    }
    if (ends.empty()) return;
    found_.blocking.push_back(
        {&declaration, ends.size() == 1 ? ends.front() : nullptr, address, bytes});
  }

  // Declares the ranges of a pm_range {address, bytes} array, as far as its contents are known.
  void declare_ranges(llvm::CallBase& call) {
    constexpr std::uint64_t kMaxRanges = 16, kRangeBytes = 16, kBytesAt = 8;
    const auto* count = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
    if (count == nullptr || count->getZExtValue() > kMaxRanges) return;
    llvm::LLVMContext& context = call.getContext();
    for (std::uint64_t i = 0; i < count->getZExtValue(); ++i) {
      const auto at = static_cast<std::int64_t>(i * kRangeBytes);
      Value* ranges = call.getArgOperand(0);
      Value* address = values_.stored_at(ranges, at, llvm::PointerType::getUnqual(context), call);
      Value* bytes =
          values_.stored_at(ranges, at + kBytesAt, llvm::Type::getInt64Ty(context), call);
      if (address != nullptr && bytes != nullptr) declare(call, address, bytes);
    }
  }

  // True if the allocation is in a region: outside, pm_end() doesn't flush allocated memory.
  bool is_in_region(const Instruction& allocation) const {
    const llvm::DominatorTree& tree = values_.tree();
    return llvm::any_of(begins_, [&](const Instruction* begin) {
      return tree.dominates(begin, &allocation) &&
             llvm::none_of(ends_, [&](const Instruction* end) {
               return leads_to(*begin, *end) && leads_to(*end, allocation);
             });
    });
  }

  // ---- Selection -----------------------------------------------------------------------------

  bool is_blocking(const WriteBack& it) const {
    if (values_.is_in_loop(*it.named->getParent())) return false;
    if (it.flushed == nullptr) return true;  // a region's ends
    if (values_.is_in_loop(*it.flushed->getParent())) return false;
    return llvm::any_of(found_.fences, [&](const Instruction* fence) {
      return fence == it.flushed ? fences_behind(*it.flushed) : leads_to(*it.flushed, *fence);
    });
  }

  // True if the flushing instruction also fences behind its flush.
  static bool fences_behind(const Instruction& flush) {
    if (calls(flush, Library::kEnd)) return true;
    const std::vector<AssemblyEffect> effects = assembly_of(flush).effects;
    const auto flushes = [](const AssemblyEffect& effect) {
      return effect.kind == SiteKind::kFlush;
    };
    return std::any_of(llvm::find_if(effects, flushes), effects.end(), is_store_fence);
  }

  llvm::Function& function_;
  KnownValues& values_;
  std::vector<Instruction*> begins_, ends_;
  WriteBacks found_;
};

}  // namespace

WriteBacks find_write_backs(llvm::Function& function, KnownValues& values) {
  return Finder(function, values).find();
}

bool writes_no_memory(const llvm::CallBase& call) {
  if (call.isInlineAsm()) {
    const AssemblySummary summary = assembly_of(call);
    return !summary.effects.empty() && summary.problems.empty() &&
           llvm::all_of(summary.effects, [](const AssemblyEffect& effect) {
             return effect.kind == SiteKind::kFlush ||
                    (effect.kind == SiteKind::kFence &&
                     static_cast<FenceKind>(effect.detail) == FenceKind::kSfence);
           });
  }
  const llvm::Intrinsic::ID intrinsic = call.getIntrinsicID();
  if (is_flush(intrinsic) || intrinsic == llvm::Intrinsic::x86_sse_sfence) return true;
  switch (library_function(call)) {
    case Library::kOther:
    case Library::kBegin:
    case Library::kEnd:
      return false;
    default:
      return true;
  }
}

}  // namespace pmemsim::pass
