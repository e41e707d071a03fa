#include "assembly.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>

#include <string>
#include <utility>

#include "assembly_effects.hpp"
#include "copies.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Value;
using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

bool accesses(const AssemblyEffect& effect) {
  return effect.kind != SiteKind::kFlush && effect.kind != SiteKind::kFence;
}

class EffectRecorder {
 public:
  EffectRecorder(Recorder& recorder, llvm::CallBase& assembly)
      : recorder_(recorder), builder_(recorder.builder()), assembly_(assembly) {}

  // Inserts the calls that record the effects. The values of memory accesses are known only when
  // the whole assembly has completed. So later effects in its text, such as the fence of `movnti
  // %0, (%1); sfence`, are also reported behind the assembly.
  void record(llvm::ArrayRef<AssemblyEffect> effects) {
    llvm::Instruction* behind =
        llvm::any_of(effects, accesses) ? recorder_.after(assembly_) : nullptr;
    llvm::Instruction* place = &assembly_;
    for (AssemblyEffect effect : effects) {
      if (accesses(effect)) place = behind;
      if (effect.index != nullptr) effect.address = indexed_pointer(effect);
      record_effect(effect, *place);
    }
  }

 private:
  Value* indexed_pointer(const AssemblyEffect& effect) {
    recorder_.insert_at(&assembly_, assembly_);
    return builder_.CreateGEP(builder_.getIntNTy(effect.scale * 8),
                              recorder_.offset_pointer(effect.address, 0), effect.index);
  }

  void record_effect(const AssemblyEffect& effect, llvm::Instruction& place) {
    switch (effect.kind) {
      case SiteKind::kFence:
        recorder_.record_fence(place, static_cast<FenceKind>(effect.detail));
        break;
      case SiteKind::kFlush:
        recorder_.record_flush(place, static_cast<FlushKind>(effect.detail), effect.address,
                               effect.displacement);
        break;
      case SiteKind::kAtomicUpdate:
        record_update(effect, place);
        break;
      case SiteKind::kCopyStore:
        record_copy(effect, place);
        break;
      case SiteKind::kLoad:
        record_access(effect, "load", place);
        break;
      default:
        record_access(effect, "store", place);
        break;
    }
  }

  void record_access(const AssemblyEffect& effect, llvm::StringRef function,
                     llvm::Instruction& place) {
    in_segments(effect.size, [&](std::uint32_t offset, std::uint32_t bytes) {
      const std::uint32_t number =
          recorder_.add(recorder_.access(effect.kind, effect.address, nullptr, bytes));
      recorder_.insert_at(&place, assembly_);
      Value* address = recorder_.offset_pointer(effect.address, effect.displacement + offset);
      if (function == "load") {
        recorder_.call(function, number, address);
      } else {
        recorder_.call(function, number, {address, builder_.getInt32(bytes)});
      }
    });
  }

  void record_copy(const AssemblyEffect& effect, llvm::Instruction& place) {
    recorder_.insert_at(&place, assembly_);
    const std::uint32_t sites = copy_sites(recorder_, effect.address, effect.source, nullptr);
    Value* count = effect.count == nullptr
                       ? builder_.getInt64(1)
                       : builder_.CreateZExtOrTrunc(effect.count, builder_.getInt64Ty());
    Value* bytes = builder_.CreateMul(count, builder_.getInt64(effect.size));
    const auto begin = [&](Value* address) {
      address = recorder_.offset_pointer(address, 0);
      if (!effect.downwards) return address;
      Value* before = builder_.CreateSub(builder_.getInt64(effect.size), bytes);
      return builder_.CreatePtrAdd(address, before);
    };
    Value* from = effect.source == nullptr ? llvm::ConstantPointerNull::get(builder_.getPtrTy())
                                           : begin(effect.source);
    recorder_.call("copied", sites, {begin(effect.address), from, bytes});
  }

  // Records an update. The bytes before and after show whether a cmpxchg wrote: no other thread
  // runs between two recorded operations.
  void record_update(const AssemblyEffect& effect, llvm::Instruction& place) {
    Site record = recorder_.access(SiteKind::kAtomicUpdate, effect.address, nullptr, effect.size);
    record.detail = effect.detail;
    record.flags = trace::kSiteFullFence;
    const std::uint32_t number = recorder_.add(std::move(record));
    llvm::Type* type = builder_.getIntNTy(effect.size * 8);

    recorder_.insert_at(&assembly_, assembly_);
    Value* address = recorder_.offset_pointer(effect.address, effect.displacement);
    recorder_.call("atomic_before", number, address);
    auto read = [&] { return builder_.CreateAlignedLoad(type, address, llvm::Align(1), true); };
    Value* before = effect.may_fail ? read() : nullptr;

    recorder_.insert_at(&place, assembly_);
    Value* wrote = builder_.getInt32(1);
    if (effect.may_fail) {
      wrote = builder_.CreateZExt(builder_.CreateICmpNE(before, read()), builder_.getInt32Ty());
    }
    recorder_.call("atomic_update", number, {address, builder_.getInt32(effect.size), wrote});
  }

  Recorder& recorder_;
  llvm::IRBuilder<>& builder_;
  llvm::CallBase& assembly_;
};

}  // namespace

void record_assembly(Recorder& recorder, llvm::CallBase& assembly) {
  const AssemblySummary summary = summarize_assembly(assembly);
  for (const std::string& problem : summary.problems) {
    recorder.warn_partial(assembly, problem);
  }
  EffectRecorder(recorder, assembly).record(summary.effects);
  if (assembly.isTerminator()) recorder.flush_pending(assembly);
}

}  // namespace pmemsim::pass
