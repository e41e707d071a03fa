#include "intrinsics.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <array>
#include <string>

#include "copies.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Value;
using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

llvm::Type* integer_like(const Value& value) {
  return llvm::IntegerType::get(value.getContext(), value.getType()->getScalarSizeInBits());
}

// Returns the name of the library function that the code generator calls for llvm.pow and the like.
std::string library_function(const llvm::IntrinsicInst& intrinsic) {
  llvm::StringRef name = llvm::Intrinsic::getBaseName(intrinsic.getIntrinsicID());
  name.consume_front("llvm.");
  const llvm::Type* type = intrinsic.getType()->getScalarType();
  return (name + (type->isFloatTy() ? "f" : type->isX86_FP80Ty() ? "l" : "")).str();
}

// A masked access of several elements.
struct Lanes {
  SiteKind kind;
  Value* address;         // the first lane's, or a vector of all lanes'
  Value* data = nullptr;  // a store's data
  Value* mask;            // a bit for each lane, or a vector whose elements have it as their sign
  llvm::Type* type;
  bool packed = false;  // the active lanes' elements are next to each other
};

// Records each active lane.
void record_lanes(Recorder& recorder, llvm::IntrinsicInst& intrinsic, const Lanes& lanes) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(lanes.type);
  if (vector == nullptr) return;
  llvm::IRBuilder<>& builder = recorder.builder();
  const bool load = lanes.kind == SiteKind::kLoad;
  const std::uint32_t bytes = recorder.size_of(vector->getElementType());
  llvm::Instruction* place = recorder.after(intrinsic);
  Value* next = lanes.address;
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    const std::uint32_t number =
        recorder.add(recorder.access(lanes.kind, lanes.address, lanes.data, bytes));
    if (load && lane == 0) recorder.context().table.set_source(intrinsic, number);
    recorder.insert_at(place, intrinsic);
    Value* active = builder.CreateExtractElement(lanes.mask, lane);
    if (!active->getType()->isIntegerTy(1)) {
      active = builder.CreateICmpSLT(builder.CreateBitCast(active, integer_like(*active)),
                                     llvm::ConstantInt::get(integer_like(*active), 0));
    }
    Value* address_of_lane = next;
    if (lanes.address->getType()->isVectorTy()) {
      address_of_lane = builder.CreateExtractElement(lanes.address, lane);
    } else {
      Value* step =
          lanes.packed ? builder.CreateZExt(active, builder.getInt64Ty()) : builder.getInt64(1);
      next = builder.CreateGEP(vector->getElementType(), next, step);
    }
    recorder.insert_at(llvm::SplitBlockAndInsertIfThen(active, place->getIterator(), false),
                       intrinsic);
    if (load) {
      recorder.call("load", number, address_of_lane);
    } else {
      recorder.call("store", number, {address_of_lane, builder.getInt32(bytes)});
    }
  }
}

// Records AVX2's and AVX-512's gathers (source, base, index, mask, scale) and AVX-512's scatters
// (base, mask, index, data, scale). The number of lanes is the smaller element count of index and
// data.
void record_indexed(Recorder& recorder, llvm::IntrinsicInst& intrinsic, bool load) {
  llvm::IRBuilder<>& builder = recorder.builder();
  Value* base = intrinsic.getArgOperand(load ? 1 : 0);
  Value* index = intrinsic.getArgOperand(2);
  Value* data = load ? &intrinsic : intrinsic.getArgOperand(3);
  const auto* scale = llvm::cast<llvm::ConstantInt>(intrinsic.getArgOperand(4));
  auto* elements = llvm::cast<llvm::FixedVectorType>(data->getType());
  const auto* indices = llvm::cast<llvm::FixedVectorType>(index->getType());
  recorder.insert_at(&intrinsic, intrinsic);
  Value* addresses = builder.CreateGEP(
      builder.getIntNTy(static_cast<unsigned>(scale->getZExtValue()) * 8), base, index);
  record_lanes(recorder, intrinsic,
               {.kind = load ? SiteKind::kLoad : SiteKind::kStore,
                .address = addresses,
                .data = load ? nullptr : data,
                .mask = intrinsic.getArgOperand(load ? 3 : 1),
                .type = llvm::FixedVectorType::get(
                    elements->getElementType(),
                    std::min(elements->getNumElements(), indices->getNumElements()))});
}

// Records AVX-512's stores of narrowed elements: (address, data, mask), where the mask is an
// integer with at least a bit for each. The name contains the resulting width: `qb` to bytes, `qw`,
// `qd`, ...
void record_narrowed(Recorder& recorder, llvm::IntrinsicInst& intrinsic, char width) {
  llvm::IRBuilder<>& builder = recorder.builder();
  Value* data = intrinsic.getArgOperand(1);
  Value* mask = intrinsic.getArgOperand(2);
  const unsigned bits = width == 'b' ? 8 : width == 'w' ? 16 : 32;
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(data->getType())->getNumElements();
  recorder.insert_at(&intrinsic, intrinsic);
  mask = builder.CreateBitCast(
      mask, llvm::FixedVectorType::get(builder.getInt1Ty(), mask->getType()->getIntegerBitWidth()));
  record_lanes(recorder, intrinsic,
               {.kind = SiteKind::kStore,
                .address = intrinsic.getArgOperand(0),
                .data = data,
                .mask = mask,
                .type = llvm::FixedVectorType::get(builder.getIntNTy(bits), lanes)});
}

// True for intrinsics with a pointer that only read memory, or don't access it. (LLVM itself
// assumes that they write.)
bool writes_no_memory(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 9> kBeginnings = {
      "xrstor",          "fxrstor",          "monitor",   "umonitor", "cldemote",
      "avx512.gatherpf", "avx512.scatterpf", "ldtilecfg", "tileload"};
  return llvm::any_of(kBeginnings, [&](auto beginning) { return name.starts_with(beginning); });
}

// Records the processor's own intrinsics by their names, since there are very many of them.
void record_of_processor(Recorder& recorder, llvm::IntrinsicInst& intrinsic, llvm::StringRef name) {
  if (name.starts_with("avx2.gather.") || name.starts_with("avx512.mask.gather")) {
    return record_indexed(recorder, intrinsic, true);
  }
  if (name.starts_with("avx512.mask.scatter")) return record_indexed(recorder, intrinsic, false);
  if (name.starts_with("avx512.mask.pmov") && name.contains(".mem.")) {
    return record_narrowed(recorder, intrinsic, name.split(".mem.").first.back());
  }
  const auto* pointer = llvm::find_if(
      intrinsic.args(), [](const llvm::Use& use) { return use->getType()->isPointerTy(); });
  if (pointer != intrinsic.arg_end() && intrinsic.mayWriteToMemory() && !writes_no_memory(name)) {
    recorder.warn_partial(intrinsic,
                          "the intrinsic '" + name + "' may write to memory; it is not recorded",
                          *pointer);
  }
}

}  // namespace

void record_intrinsic(Recorder& recorder, llvm::IntrinsicInst& intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memcpy_inline:
    case llvm::Intrinsic::memmove:
    case llvm::Intrinsic::memset:
    case llvm::Intrinsic::memset_inline:
      replace_memory_intrinsic(recorder, llvm::cast<llvm::MemIntrinsic>(intrinsic));
      break;
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather:
      record_lanes(recorder, intrinsic,
                   {.kind = SiteKind::kLoad,
                    .address = intrinsic.getArgOperand(0),
                    .mask = intrinsic.getArgOperand(2),
                    .type = intrinsic.getType()});
      break;
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_scatter:
      record_lanes(recorder, intrinsic,
                   {.kind = SiteKind::kStore,
                    .address = intrinsic.getArgOperand(1),
                    .data = intrinsic.getArgOperand(0),
                    .mask = intrinsic.getArgOperand(3),
                    .type = intrinsic.getArgOperand(0)->getType()});
      break;
    case llvm::Intrinsic::masked_expandload:
      record_lanes(recorder, intrinsic,
                   {.kind = SiteKind::kLoad,
                    .address = intrinsic.getArgOperand(0),
                    .mask = intrinsic.getArgOperand(1),
                    .type = intrinsic.getType(),
                    .packed = true});
      break;
    case llvm::Intrinsic::masked_compressstore:
      record_lanes(recorder, intrinsic,
                   {.kind = SiteKind::kStore,
                    .address = intrinsic.getArgOperand(1),
                    .data = intrinsic.getArgOperand(0),
                    .mask = intrinsic.getArgOperand(2),
                    .type = intrinsic.getArgOperand(0)->getType(),
                    .packed = true});
      break;
    case llvm::Intrinsic::x86_avx_maskload_ps:
    case llvm::Intrinsic::x86_avx_maskload_pd:
    case llvm::Intrinsic::x86_avx_maskload_ps_256:
    case llvm::Intrinsic::x86_avx_maskload_pd_256:
    case llvm::Intrinsic::x86_avx2_maskload_d:
    case llvm::Intrinsic::x86_avx2_maskload_q:
    case llvm::Intrinsic::x86_avx2_maskload_d_256:
    case llvm::Intrinsic::x86_avx2_maskload_q_256:
      record_lanes(recorder, intrinsic,
                   {.kind = SiteKind::kLoad,
                    .address = intrinsic.getArgOperand(0),
                    .mask = intrinsic.getArgOperand(1),
                    .type = intrinsic.getType()});
      break;
    case llvm::Intrinsic::x86_avx_maskstore_ps:
    case llvm::Intrinsic::x86_avx_maskstore_pd:
    case llvm::Intrinsic::x86_avx_maskstore_ps_256:
    case llvm::Intrinsic::x86_avx_maskstore_pd_256:
    case llvm::Intrinsic::x86_avx2_maskstore_d:
    case llvm::Intrinsic::x86_avx2_maskstore_q:
    case llvm::Intrinsic::x86_avx2_maskstore_d_256:
    case llvm::Intrinsic::x86_avx2_maskstore_q_256:
      record_lanes(recorder, intrinsic,
                   {.kind = SiteKind::kStore,
                    .address = intrinsic.getArgOperand(0),
                    .data = intrinsic.getArgOperand(2),
                    .mask = intrinsic.getArgOperand(1),
                    .type = intrinsic.getArgOperand(2)->getType()});
      break;
    case llvm::Intrinsic::x86_sse3_ldu_dq:
    case llvm::Intrinsic::x86_avx_ldu_dq_256:
      recorder.record_loads(intrinsic, intrinsic.getArgOperand(0),
                            recorder.size_of(intrinsic.getType()));
      break;
    case llvm::Intrinsic::x86_sse2_maskmov_dqu:
      record_lanes(recorder, intrinsic,
                   {.kind = SiteKind::kNonTemporal,
                    .address = intrinsic.getArgOperand(2),
                    .data = intrinsic.getArgOperand(0),
                    .mask = intrinsic.getArgOperand(1),
                    .type = intrinsic.getArgOperand(0)->getType()});
      break;
    case llvm::Intrinsic::x86_mmx_movnt_dq:
    case llvm::Intrinsic::x86_directstore32:
    case llvm::Intrinsic::x86_directstore64:
      recorder.record_stores(intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(0),
                             intrinsic.getArgOperand(1),
                             recorder.size_of(intrinsic.getArgOperand(1)->getType()));
      break;
    case llvm::Intrinsic::x86_movdir64b:
      // The load's record is inserted first: the last one inserted behind an instruction is next to
      // it.
      recorder.record_stores(intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(0), nullptr,
                             trace::kLineBytes);
      recorder.record_loads(intrinsic, intrinsic.getArgOperand(1), trace::kLineBytes);
      break;
    case llvm::Intrinsic::x86_clwb:
      recorder.record_flush(intrinsic, FlushKind::kClwb, intrinsic.getArgOperand(0));
      break;
    case llvm::Intrinsic::x86_clflushopt:
      recorder.record_flush(intrinsic, FlushKind::kClflushopt, intrinsic.getArgOperand(0));
      break;
    case llvm::Intrinsic::x86_sse2_clflush:
      recorder.record_flush(intrinsic, FlushKind::kClflush, intrinsic.getArgOperand(0));
      break;
    case llvm::Intrinsic::x86_sse_sfence:
      recorder.record_fence(intrinsic, FenceKind::kSfence);
      break;
    case llvm::Intrinsic::x86_sse2_mfence:
      recorder.record_fence(intrinsic, FenceKind::kMfence);
      break;
    case llvm::Intrinsic::x86_sse2_lfence:
      recorder.record_fence(intrinsic, FenceKind::kLfence);
      break;
    case llvm::Intrinsic::x86_sse_stmxcsr:
      recorder.record_stores(intrinsic, SiteKind::kStore, intrinsic.getArgOperand(0), nullptr, 4);
      break;
    case llvm::Intrinsic::x86_sse_ldmxcsr:
      recorder.record_loads(intrinsic, intrinsic.getArgOperand(0), 4);
      break;
    default:
      llvm::StringRef name = intrinsic.getCalledFunction()->getName();
      if (name.consume_front("llvm.x86.")) {
        record_of_processor(recorder, intrinsic, name);
      } else if (recorder.context().counts.of(intrinsic).calls) {
        recorder.record_external(intrinsic, library_function(intrinsic));
      }
      break;
  }
}

}  // namespace pmemsim::pass
