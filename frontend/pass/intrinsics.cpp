#include "intrinsics.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

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

// Masked accesses: each lane is recorded if its bit of the mask (or the sign of its element of
// the mask) is set. `address` is the first lane's, or a vector of all lanes'.
void record_lanes(Recorder& recorder, llvm::IntrinsicInst& intrinsic, SiteKind kind, Value* address,
                  Value* data, Value* mask, llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return;
  llvm::IRBuilder<>& builder = recorder.builder();
  const bool load = kind == SiteKind::kLoad;
  const std::uint32_t bytes = recorder.size_of(vector->getElementType());
  llvm::Instruction* place = load ? &intrinsic : recorder.after(intrinsic);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    const std::uint32_t number = recorder.add(recorder.access(kind, address, data, bytes));
    if (load && lane == 0) recorder.context().table.set_source(intrinsic, number);
    recorder.insert_at(place, intrinsic);
    Value* active = builder.CreateExtractElement(mask, lane);
    if (!active->getType()->isIntegerTy(1)) {
      active = builder.CreateICmpSLT(builder.CreateBitCast(active, integer_like(*active)),
                                     llvm::ConstantInt::get(integer_like(*active), 0));
    }
    Value* place_of_lane = address->getType()->isVectorTy()
                               ? builder.CreateExtractElement(address, lane)
                               : recorder.offset_pointer(address, std::int64_t{lane} * bytes);
    recorder.insert_at(llvm::SplitBlockAndInsertIfThen(active, place->getIterator(), false),
                       intrinsic);
    if (load) {
      recorder.call("load", number, place_of_lane);
    } else {
      recorder.call("store", number, {place_of_lane, builder.getInt32(bytes)});
    }
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
      record_lanes(recorder, intrinsic, SiteKind::kLoad, intrinsic.getArgOperand(0), nullptr,
                   intrinsic.getArgOperand(2), intrinsic.getType());
      break;
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_scatter:
      record_lanes(recorder, intrinsic, SiteKind::kStore, intrinsic.getArgOperand(1),
                   intrinsic.getArgOperand(0), intrinsic.getArgOperand(3),
                   intrinsic.getArgOperand(0)->getType());
      break;
    case llvm::Intrinsic::x86_avx_maskload_ps:
    case llvm::Intrinsic::x86_avx_maskload_pd:
    case llvm::Intrinsic::x86_avx_maskload_ps_256:
    case llvm::Intrinsic::x86_avx_maskload_pd_256:
    case llvm::Intrinsic::x86_avx2_maskload_d:
    case llvm::Intrinsic::x86_avx2_maskload_q:
    case llvm::Intrinsic::x86_avx2_maskload_d_256:
    case llvm::Intrinsic::x86_avx2_maskload_q_256:
      record_lanes(recorder, intrinsic, SiteKind::kLoad, intrinsic.getArgOperand(0), nullptr,
                   intrinsic.getArgOperand(1), intrinsic.getType());
      break;
    case llvm::Intrinsic::x86_avx_maskstore_ps:
    case llvm::Intrinsic::x86_avx_maskstore_pd:
    case llvm::Intrinsic::x86_avx_maskstore_ps_256:
    case llvm::Intrinsic::x86_avx_maskstore_pd_256:
    case llvm::Intrinsic::x86_avx2_maskstore_d:
    case llvm::Intrinsic::x86_avx2_maskstore_q:
    case llvm::Intrinsic::x86_avx2_maskstore_d_256:
    case llvm::Intrinsic::x86_avx2_maskstore_q_256:
      record_lanes(recorder, intrinsic, SiteKind::kStore, intrinsic.getArgOperand(0),
                   intrinsic.getArgOperand(2), intrinsic.getArgOperand(1),
                   intrinsic.getArgOperand(2)->getType());
      break;
    case llvm::Intrinsic::x86_sse3_ldu_dq:
    case llvm::Intrinsic::x86_avx_ldu_dq_256:
      recorder.record_loads(intrinsic, intrinsic.getArgOperand(0),
                            recorder.size_of(intrinsic.getType()));
      break;
    case llvm::Intrinsic::x86_sse2_maskmov_dqu:
      record_lanes(recorder, intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(2),
                   intrinsic.getArgOperand(0), intrinsic.getArgOperand(1),
                   intrinsic.getArgOperand(0)->getType());
      break;
    case llvm::Intrinsic::x86_mmx_movnt_dq:
    case llvm::Intrinsic::x86_directstore32:
    case llvm::Intrinsic::x86_directstore64:
      recorder.record_stores(intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(0),
                             intrinsic.getArgOperand(1),
                             recorder.size_of(intrinsic.getArgOperand(1)->getType()));
      break;
    case llvm::Intrinsic::x86_movdir64b:
      recorder.record_loads(intrinsic, intrinsic.getArgOperand(1), trace::kLineBytes);
      recorder.record_stores(intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(0), nullptr,
                             trace::kLineBytes);
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
    default:
      if (recorder.context().counts.of(intrinsic).calls)
        recorder.record_external(intrinsic);  // llvm.pow, ...
      break;
  }
}

}  // namespace pmemsim::pass
