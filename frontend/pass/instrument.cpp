#include "instrument.hpp"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "dependences.hpp"
#include "inline_assembly.hpp"
#include "library_functions.hpp"
#include "machine_counts.hpp"
#include "runtime_calls.hpp"
#include "site_table.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Value;
using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

constexpr llvm::StringRef kMarker = "pmemsim.instrumented";

void warn(const llvm::Module& module, const llvm::Twine& text) {
  llvm::errs() << "pmemsim: " << module.getSourceFileName() << ": " << text << '\n';
}

// What the module's parts share.
struct Context {
  llvm::Module& module;
  const MachineCounts& counts;
  const Dependences& dependences;
  SiteTable& table;
  RuntimeCalls& runtime;
};

class FunctionInstrumenter {
 public:
  FunctionInstrumenter(llvm::Function& function, const Context& context)
      : function_(function),
        context_(context),
        layout_(function.getParent()->getDataLayout()),
        builder_(function.getContext()) {}

  void run() {
    // Instrumenting splits blocks, so what there is to do is listed first.
    std::vector<std::vector<llvm::Instruction*>> blocks;
    for (llvm::BasicBlock& block : function_) {
      blocks.emplace_back();
      for (llvm::Instruction& instruction : block) blocks.back().push_back(&instruction);
    }
    for (const auto& block : blocks) {
      location_ = first_location(block);
      for (llvm::Instruction* instruction : block) {
        if (const llvm::DebugLoc& location = instruction->getDebugLoc();
            location && location.getLine() != 0) {
          location_ = location.get();
        }
        pending_ += context_.counts.of(*instruction).instructions;
        visit(*instruction);
      }
    }
  }

 private:
  // ---- Sites ---------------------------------------------------------------------------------

  static const llvm::DILocation* first_location(const std::vector<llvm::Instruction*>& block) {
    for (const llvm::Instruction* instruction : block) {
      const llvm::DebugLoc& location = instruction->getDebugLoc();
      if (location && location.getLine() != 0) return location.get();
    }
    return nullptr;
  }

  Site site(SiteKind kind) {
    Site site{.kind = kind};
    site.instructions = take_pending();
    site.location = location_;
    site.function = &function_;
    return site;
  }

  Site access(SiteKind kind, Value* address, Value* data, std::uint32_t size) {
    Site result = site(kind);
    result.size = static_cast<std::uint8_t>(size);
    result.address_dependences = context_.dependences.of_address(address);
    if (data != nullptr) result.data_dependences = context_.dependences.of_value(data);
    return result;
  }

  std::uint32_t take_pending() {
    const double whole = std::max(0.0, std::floor(pending_ + 0.5));
    pending_ -= whole;
    return static_cast<std::uint32_t>(whole);
  }

  // The site's number at run time: the module's first one, loaded once per call of the function,
  // plus a constant.
  Value* number(std::uint32_t site) {
    if (base_ == nullptr) {
      llvm::IRBuilder<>::InsertPointGuard guard(builder_);
      llvm::BasicBlock& entry = function_.getEntryBlock();
      builder_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
      builder_.SetCurrentDebugLocation({});
      base_ = builder_.CreateLoad(builder_.getInt32Ty(), &context_.table.base());
    }
    return builder_.CreateAdd(base_, builder_.getInt32(site));
  }

  llvm::CallInst* call(llvm::StringRef name, std::uint32_t site,
                       llvm::ArrayRef<Value*> arguments = {}, llvm::Type* result = nullptr) {
    llvm::SmallVector<Value*, 5> all = {number(site)};
    all.append(arguments.begin(), arguments.end());
    return context_.runtime.call(builder_, name, result != nullptr ? result : builder_.getVoidTy(),
                                 all);
  }

  // Reports what was executed so far, before what comes next reports something itself.
  void flush_pending(llvm::Instruction& before) {
    Site execute = site(SiteKind::kExecute);
    if (execute.instructions == 0) return;
    builder_.SetInsertPoint(&before);
    call("execute", context_.table.add(std::move(execute)));
  }

  // ---- Places --------------------------------------------------------------------------------

  // Where to insert what comes after the instruction when it has gone well.
  llvm::Instruction* after(llvm::Instruction& instruction) {
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&instruction)) {
      llvm::BasicBlock* block = own_successor(*invoke, invoke->getNormalDest());
      invoke->setNormalDest(block);
      return &*block->getFirstInsertionPt();
    }
    if (auto* branching = llvm::dyn_cast<llvm::CallBrInst>(&instruction)) {
      llvm::BasicBlock* block = own_successor(*branching, branching->getDefaultDest());
      branching->setDefaultDest(block);
      return &*block->getFirstInsertionPt();
    }
    return instruction.getNextNode();
  }

  // The successor itself if control comes from nowhere else, or a block of its own on the way.
  llvm::BasicBlock* own_successor(llvm::Instruction& terminator, llvm::BasicBlock* successor) {
    llvm::BasicBlock* block = terminator.getParent();
    if (successor->getSinglePredecessor() == block && llvm::succ_size(block) > 0 &&
        llvm::count(llvm::successors(block), successor) == 1) {
      return successor;
    }
    auto* between = llvm::BasicBlock::Create(function_.getContext(), "", &function_, successor);
    llvm::BranchInst::Create(successor, between)->setDebugLoc(terminator.getDebugLoc());
    for (llvm::PHINode& phi : successor->phis()) {
      phi.setIncomingBlock(static_cast<unsigned>(phi.getBasicBlockIndex(block)), between);
    }
    return between;
  }

  void insert_at(llvm::Instruction* place, const llvm::Instruction& on_behalf_of) {
    builder_.SetInsertPoint(place);
    builder_.SetCurrentDebugLocation(on_behalf_of.getDebugLoc());
  }

  // ---- Instructions --------------------------------------------------------------------------

  static bool is_ordinary_memory(const Value* pointer) {
    return pointer->getType()->getPointerAddressSpace() == 0;
  }

  std::uint32_t size_of(llvm::Type* type) const {
    return static_cast<std::uint32_t>(layout_.getTypeStoreSize(type).getKnownMinValue());
  }

  void visit(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      visit_load(*load);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      visit_store(*store);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      record_atomic(*update, SiteKind::kAtomicUpdate, update->getPointerOperand(),
                    update->getValOperand(), update->getValOperand()->getType(), true);
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      record_atomic(*exchange, SiteKind::kAtomicUpdate, exchange->getPointerOperand(),
                    exchange->getNewValOperand(), exchange->getNewValOperand()->getType(), true);
    } else if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
      // Weaker ones, and those between a thread and its signal handlers, bind the compiler only.
      if (fence->getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent &&
          fence->getSyncScopeID() == llvm::SyncScope::System) {
        record_fence(instruction, FenceKind::kMfence);
      }
    } else if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
               branch != nullptr && branch->isConditional()) {
      visit_branch(*branch);
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      visit_call(*call);
    } else if (instruction.isTerminator()) {
      // Nothing can be inserted behind a musttail call, which has counted its return.
      if (instruction.getParent()->getTerminatingMustTailCall() == nullptr) {
        flush_pending(instruction);
      } else {
        pending_ = 0;
      }
    } else if (llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction) &&
               context_.counts.of(instruction).calls) {
      record_external(instruction);  // fmod, 128-bit division, ...
    }
  }

  void visit_load(llvm::LoadInst& load) {
    Value* address = load.getPointerOperand();
    if (!is_ordinary_memory(address)) return;
    if (load.isAtomic()) {
      record_atomic(load, SiteKind::kAtomicLoad, address, nullptr, load.getType(), false);
    } else {
      record_loads(load, address, size_of(load.getType()));
    }
  }

  void visit_store(llvm::StoreInst& store) {
    Value* address = store.getPointerOperand();
    Value* data = store.getValueOperand();
    if (!is_ordinary_memory(address)) return;
    if (store.isAtomic()) {
      // A sequentially consistent store is an xchg on x86.
      const bool full_fence = store.getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent;
      record_atomic(store, SiteKind::kAtomicStore, address, data, data->getType(), full_fence);
      return;
    }
    const bool non_temporal = store.hasMetadata(llvm::LLVMContext::MD_nontemporal);
    record_stores(store, non_temporal ? SiteKind::kNonTemporal : SiteKind::kStore, address, data,
                  size_of(data->getType()));
  }

  void visit_branch(llvm::BranchInst& branch) {
    Site outcome = site(SiteKind::kBranch);
    outcome.data_dependences = context_.dependences.of_value(branch.getCondition());
    builder_.SetInsertPoint(&branch);
    call("branch", context_.table.add(std::move(outcome)),
         builder_.CreateZExt(branch.getCondition(), builder_.getInt32Ty()));
  }

  // Calls `record(offset, bytes)` for each piece of an access that a trace can hold.
  template <typename Record>
  static void in_pieces(std::uint32_t size, Record record) {
    for (std::uint32_t offset = 0; offset < size; offset += trace::kMaxAccessBytes) {
      record(offset, std::min(size - offset, trace::kMaxAccessBytes));
    }
  }

  Value* offset_pointer(Value* address, std::int64_t offset) {
    if (!address->getType()->isPointerTy()) {
      address = builder_.CreateIntToPtr(address, builder_.getPtrTy());
    }
    return offset == 0 ? address
                       : builder_.CreateConstGEP1_64(builder_.getInt8Ty(), address, offset);
  }

  void record_loads(llvm::Instruction& load, Value* address, std::uint32_t size) {
    in_pieces(size, [&](std::uint32_t offset, std::uint32_t bytes) {
      const std::uint32_t number =
          context_.table.add(access(SiteKind::kLoad, address, nullptr, bytes));
      if (offset == 0) context_.table.set_source(load, number);
      insert_at(&load, load);
      call("load", number, offset_pointer(address, offset));
    });
  }

  void record_stores(llvm::Instruction& store, SiteKind kind, Value* address, Value* data,
                     std::uint32_t size) {
    llvm::Instruction* place = after(store);
    in_pieces(size, [&](std::uint32_t offset, std::uint32_t bytes) {
      const std::uint32_t number = context_.table.add(access(kind, address, data, bytes));
      insert_at(place, store);
      call("store", number, {offset_pointer(address, offset), builder_.getInt32(bytes)});
    });
  }

  void record_atomic(llvm::Instruction& atomic, SiteKind kind, Value* address, Value* data,
                     llvm::Type* type, bool full_fence) {
    if (!is_ordinary_memory(address)) return;
    const std::uint32_t size = size_of(type);
    Site record = access(kind, address, data, size);
    record.flags = full_fence ? trace::kSiteFullFence : 0;
    const std::uint32_t number = context_.table.add(std::move(record));
    context_.table.set_source(atomic, number);
    insert_at(&atomic, atomic);
    call("atomic_before", number, address);
    insert_at(after(atomic), atomic);
    if (kind == SiteKind::kAtomicUpdate) {
      Value* wrote = builder_.getInt32(1);
      if (llvm::isa<llvm::AtomicCmpXchgInst>(atomic)) {
        wrote = builder_.CreateZExt(builder_.CreateExtractValue(&atomic, 1), builder_.getInt32Ty());
      }
      call("atomic_update", number, {address, builder_.getInt32(size), wrote});
    } else {
      call(kind == SiteKind::kAtomicLoad ? "atomic_load" : "atomic_store", number,
           {address, builder_.getInt32(size)});
    }
  }

  void record_fence(llvm::Instruction& fence, FenceKind kind) {
    Site record = site(SiteKind::kFence);
    record.detail = static_cast<std::uint8_t>(kind);
    builder_.SetInsertPoint(&fence);
    call("fence", context_.table.add(std::move(record)));
  }

  void record_flush(llvm::Instruction& flush, FlushKind kind, Value* address,
                    std::int64_t displacement = 0) {
    Site record = access(SiteKind::kFlush, address, nullptr, 0);
    record.detail = static_cast<std::uint8_t>(kind);
    builder_.SetInsertPoint(&flush);
    call("flush", context_.table.add(std::move(record)), offset_pointer(address, displacement));
  }

  // ---- Calls ---------------------------------------------------------------------------------

  void visit_call(llvm::CallBase& call) {
    if (call.isInlineAsm()) {
      visit_assembly(call);
    } else if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
      visit_intrinsic(*intrinsic);
    } else if (call.isMustTailCall()) {
      pending_ += 1;  // the return, which nothing can be inserted before
      flush_pending(call);
    } else {
      visit_function_call(call);
    }
    if (call.isTerminator()) pending_ = 0;
  }

  void visit_function_call(llvm::CallBase& call) {
    const LibraryCall library = library_call(call);
    if (library == LibraryCall::kOther) {
      if (may_be_foreign(call)) {
        record_maybe_foreign(call);
      } else {
        flush_pending(call);
      }
      if (const auto write = library_write(call)) {
        insert_at(after(call), call);
        record_library_write(call, *write);
      }
    } else if (library == LibraryCall::kExternal) {
      record_external(call);
      if (const auto write = library_write(call)) record_library_write(call, *write);
    } else {
      replace_library_copy(call, library);
    }
  }

  // Behind the call, where the builder stands.
  void record_library_write(llvm::CallBase& call, const LibraryWrite& write) {
    using Bytes = LibraryWrite::Bytes;
    const bool to_result = write.destination == LibraryWrite::kNone;
    Value* to = to_result ? &call : call.getArgOperand(static_cast<unsigned>(write.destination));
    const std::uint32_t number = context_.table.add(access(SiteKind::kCopyStore, to, nullptr, 0));
    if (write.bytes == Bytes::kString) {
      // What is returned, because it is null when nothing was written.
      this->call("wrote_string", number, &call);
      return;
    }
    const auto argument = [&](int which) {
      return builder_.CreateZExtOrTrunc(call.getArgOperand(static_cast<unsigned>(which)),
                                        builder_.getInt64Ty());
    };
    const auto result = [&](std::uint64_t more) {
      Value* returned = builder_.CreateSExtOrTrunc(&call, builder_.getInt64Ty());
      returned = builder_.CreateAdd(returned, builder_.getInt64(more));
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, returned, builder_.getInt64(0));
    };
    Value* bytes = nullptr;
    switch (write.bytes) {
      case Bytes::kResult:
        bytes = result(0);
        break;
      case Bytes::kResultTimes:
        bytes = builder_.CreateMul(result(0), argument(write.argument));
        break;
      case Bytes::kPrinted:
        bytes = result(1);
        if (write.argument != LibraryWrite::kNone) {
          bytes = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bytes,
                                                 argument(write.argument));
        }
        break;
      case Bytes::kArgument:
        bytes = argument(write.argument);
        break;
      case Bytes::kArguments:
        bytes = builder_.CreateMul(argument(write.argument), argument(write.argument + 1));
        break;
      case Bytes::kString:
        break;
    }
    this->call("wrote", number, {to, bytes});
  }

  // Around code that is not instrumented. If it leaves by an exception, the next thing recorded
  // tells the runtime that it is over.
  void record_external(llvm::Instruction& instruction) {
    const std::uint32_t number = context_.table.add(site(SiteKind::kExecute));
    builder_.SetInsertPoint(&instruction);
    call("external_before", number);
    insert_at(after(instruction), instruction);
    call("external_after", number);
  }

  // Is the function defined elsewhere, perhaps in a library that is not instrumented? Calls that
  // return twice or never leave nothing to do behind them.
  static bool may_be_foreign(const llvm::CallBase& call) {
    const llvm::Function* callee = call.getCalledFunction();
    return callee != nullptr && callee->isDeclaration() && !callee->isIntrinsic() &&
           !call.doesNotReturn() && !call.hasFnAttr(llvm::Attribute::ReturnsTwice) &&
           !callee->getName().starts_with("pmemsim_rt_");
  }

  // The runtime knows where the function is.
  void record_maybe_foreign(llvm::CallBase& call) {
    const std::uint32_t number = context_.table.add(site(SiteKind::kExecute));
    builder_.SetInsertPoint(&call);
    this->call("foreign_before", number, call.getCalledFunction());
    insert_at(after(call), call);
    this->call("foreign_after", number);
  }

  void visit_intrinsic(llvm::IntrinsicInst& intrinsic) {
    switch (intrinsic.getIntrinsicID()) {
      case llvm::Intrinsic::memcpy:
      case llvm::Intrinsic::memcpy_inline:
      case llvm::Intrinsic::memmove:
      case llvm::Intrinsic::memset:
      case llvm::Intrinsic::memset_inline:
        replace_memory_intrinsic(llvm::cast<llvm::MemIntrinsic>(intrinsic));
        break;
      case llvm::Intrinsic::masked_load:
      case llvm::Intrinsic::masked_gather:
        record_lanes(intrinsic, SiteKind::kLoad, intrinsic.getArgOperand(0), nullptr,
                     intrinsic.getArgOperand(2), intrinsic.getType());
        break;
      case llvm::Intrinsic::masked_store:
      case llvm::Intrinsic::masked_scatter:
        record_lanes(intrinsic, SiteKind::kStore, intrinsic.getArgOperand(1),
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
        record_lanes(intrinsic, SiteKind::kLoad, intrinsic.getArgOperand(0), nullptr,
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
        record_lanes(intrinsic, SiteKind::kStore, intrinsic.getArgOperand(0),
                     intrinsic.getArgOperand(2), intrinsic.getArgOperand(1),
                     intrinsic.getArgOperand(2)->getType());
        break;
      case llvm::Intrinsic::x86_sse3_ldu_dq:
      case llvm::Intrinsic::x86_avx_ldu_dq_256:
        record_loads(intrinsic, intrinsic.getArgOperand(0), size_of(intrinsic.getType()));
        break;
      case llvm::Intrinsic::x86_sse2_maskmov_dqu:
        record_lanes(intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(2),
                     intrinsic.getArgOperand(0), intrinsic.getArgOperand(1),
                     intrinsic.getArgOperand(0)->getType());
        break;
      case llvm::Intrinsic::x86_mmx_movnt_dq:
      case llvm::Intrinsic::x86_directstore32:
      case llvm::Intrinsic::x86_directstore64:
        record_stores(intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(0),
                      intrinsic.getArgOperand(1), size_of(intrinsic.getArgOperand(1)->getType()));
        break;
      case llvm::Intrinsic::x86_movdir64b:
        record_loads(intrinsic, intrinsic.getArgOperand(1), trace::kLineBytes);
        record_stores(intrinsic, SiteKind::kNonTemporal, intrinsic.getArgOperand(0), nullptr,
                      trace::kLineBytes);
        break;
      case llvm::Intrinsic::x86_clwb:
        record_flush(intrinsic, FlushKind::kClwb, intrinsic.getArgOperand(0));
        break;
      case llvm::Intrinsic::x86_clflushopt:
        record_flush(intrinsic, FlushKind::kClflushopt, intrinsic.getArgOperand(0));
        break;
      case llvm::Intrinsic::x86_sse2_clflush:
        record_flush(intrinsic, FlushKind::kClflush, intrinsic.getArgOperand(0));
        break;
      case llvm::Intrinsic::x86_sse_sfence:
        record_fence(intrinsic, FenceKind::kSfence);
        break;
      case llvm::Intrinsic::x86_sse2_mfence:
        record_fence(intrinsic, FenceKind::kMfence);
        break;
      case llvm::Intrinsic::x86_sse2_lfence:
        record_fence(intrinsic, FenceKind::kLfence);
        break;
      default:
        if (context_.counts.of(intrinsic).calls) record_external(intrinsic);  // llvm.pow, ...
        break;
    }
  }

  // Masked accesses: each lane is recorded if its bit of the mask (or the sign of its element of
  // the mask) is set. `address` is the first lane's, or a vector of all lanes'.
  void record_lanes(llvm::IntrinsicInst& intrinsic, SiteKind kind, Value* address, Value* data,
                    Value* mask, llvm::Type* type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (vector == nullptr) return;
    const bool load = kind == SiteKind::kLoad;
    const std::uint32_t bytes = size_of(vector->getElementType());
    llvm::Instruction* place = load ? &intrinsic : after(intrinsic);
    for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
      const std::uint32_t number = context_.table.add(access(kind, address, data, bytes));
      if (load && lane == 0) context_.table.set_source(intrinsic, number);
      insert_at(place, intrinsic);
      Value* active = builder_.CreateExtractElement(mask, lane);
      if (!active->getType()->isIntegerTy(1)) {
        active = builder_.CreateICmpSLT(builder_.CreateBitCast(active, integer_like(active)),
                                        llvm::ConstantInt::get(integer_like(active), 0));
      }
      Value* place_of_lane = address->getType()->isVectorTy()
                                 ? builder_.CreateExtractElement(address, lane)
                                 : offset_pointer(address, std::int64_t{lane} * bytes);
      insert_at(llvm::SplitBlockAndInsertIfThen(active, place->getIterator(), false), intrinsic);
      if (load) {
        call("load", number, place_of_lane);
      } else {
        call("store", number, {place_of_lane, builder_.getInt32(bytes)});
      }
    }
  }

  llvm::Type* integer_like(const Value* value) {
    return builder_.getIntNTy(value->getType()->getScalarSizeInBits());
  }

  // ---- Copies --------------------------------------------------------------------------------

  // The three sites of a copy: what comes before, its loads, its stores.
  std::uint32_t copy_sites(Value* to, Value* from, Value* data) {
    const std::uint32_t first = context_.table.add(site(SiteKind::kExecute));
    Site load = access(SiteKind::kCopyLoad, from != nullptr ? from : to, nullptr, 0);
    Site store = access(SiteKind::kCopyStore, to, data, 0);
    load.instructions = store.instructions = 1;
    const std::uint32_t load_number = context_.table.add(std::move(load));
    if (from != nullptr) store.copied_from = load_number;
    context_.table.add(std::move(store));
    return first;
  }

  Value* copy(llvm::StringRef function, Value* to, Value* from, Value* bytes) {
    const std::uint32_t sites = copy_sites(to, from, nullptr);
    return call(function, sites,
                {to, from, builder_.CreateZExtOrTrunc(bytes, builder_.getInt64Ty())},
                builder_.getPtrTy());
  }

  Value* fill(Value* to, Value* byte, Value* bytes) {
    const std::uint32_t sites = copy_sites(to, nullptr, byte);
    return call("memset", sites,
                {to, builder_.CreateZExtOrTrunc(byte, builder_.getInt32Ty()),
                 builder_.CreateZExtOrTrunc(bytes, builder_.getInt64Ty())},
                builder_.getPtrTy());
  }

  void replace_memory_intrinsic(llvm::MemIntrinsic& intrinsic) {
    auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&intrinsic);
    if (!is_ordinary_memory(intrinsic.getDest()) ||
        (transfer != nullptr && !is_ordinary_memory(transfer->getSource()))) {
      return;
    }
    // What the back end expands in place is counted again as the copy's loads and stores.
    if (auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(intrinsic.getLength());
        bytes != nullptr && !context_.counts.of(intrinsic).calls) {
      const double pieces =
          std::ceil(static_cast<double>(bytes->getZExtValue()) / trace::kCopyBytes);
      pending_ = std::max(0.0, pending_ - pieces * (transfer != nullptr ? 2 : 1));
    }
    builder_.SetInsertPoint(&intrinsic);
    if (transfer == nullptr) {
      fill(intrinsic.getDest(), llvm::cast<llvm::MemSetInst>(intrinsic).getValue(),
           intrinsic.getLength());
    } else {
      copy(llvm::isa<llvm::MemMoveInst>(intrinsic) ? "memmove" : "memcpy", intrinsic.getDest(),
           transfer->getSource(), intrinsic.getLength());
    }
    intrinsic.eraseFromParent();
  }

  // The C library's function of that name; its own accesses are not recorded.
  Value* length_call(llvm::StringRef function, llvm::ArrayRef<Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 2> parameters;
    for (Value* argument : arguments) parameters.push_back(argument->getType());
    return builder_.CreateCall(
        context_.module.getOrInsertFunction(
            function, llvm::FunctionType::get(builder_.getInt64Ty(), parameters, false)),
        arguments);
  }

  Value* plus(Value* pointer, Value* bytes) {
    return builder_.CreatePtrAdd(pointer, builder_.CreateZExtOrTrunc(bytes, builder_.getInt64Ty()));
  }

  void replace_library_copy(llvm::CallBase& original, LibraryCall library) {
    llvm::CallBase* call = &original;
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(call)) call = llvm::changeToCall(invoke);
    builder_.SetInsertPoint(call);
    Value* result = copy_of(*call, library);
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(result);
    call->eraseFromParent();
  }

  Value* copy_of(llvm::CallBase& call, LibraryCall library) {
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
      case LibraryCall::kExternal:
        break;
    }
    llvm_unreachable("not a copying function");
  }

  // ---- Inline assembly -----------------------------------------------------------------------

  void visit_assembly(llvm::CallBase& call) {
    const AssemblySummary summary = summarize_assembly(call);
    for (const std::string& problem : summary.problems) {
      const unsigned line = location_ != nullptr ? location_->getLine() : 0;
      warn(context_.module, "line " + llvm::Twine(line) + ": " + problem + ".");
    }
    record_effects(call, summary.effects);
    if (call.isTerminator()) flush_pending(call);
  }

  static bool writes(const AssemblyEffect& effect) {
    return effect.kind != SiteKind::kLoad && effect.kind != SiteKind::kFlush &&
           effect.kind != SiteKind::kFence;
  }

  // What is written is known when the assembly is over; so what comes behind it in the text, such
  // as the fence of `movnti %0, (%1); sfence`, is reported behind it.
  void record_effects(llvm::CallBase& assembly, llvm::ArrayRef<AssemblyEffect> effects) {
    llvm::Instruction* behind = llvm::any_of(effects, writes) ? after(assembly) : nullptr;
    llvm::Instruction* place = &assembly;
    for (AssemblyEffect effect : effects) {
      if (writes(effect)) place = behind;
      if (effect.index != nullptr) effect.address = indexed_pointer(assembly, effect);
      record_effect(assembly, effect, *place);
    }
  }

  Value* indexed_pointer(llvm::CallBase& assembly, const AssemblyEffect& effect) {
    insert_at(&assembly, assembly);
    return builder_.CreateGEP(builder_.getIntNTy(effect.scale * 8),
                              offset_pointer(effect.address, 0), effect.index);
  }

  void record_effect(llvm::CallBase& assembly, const AssemblyEffect& effect,
                     llvm::Instruction& place) {
    switch (effect.kind) {
      case SiteKind::kFence:
        record_fence(place, static_cast<FenceKind>(effect.detail));
        break;
      case SiteKind::kFlush:
        record_flush(place, static_cast<FlushKind>(effect.detail), effect.address,
                     effect.displacement);
        break;
      case SiteKind::kAtomicUpdate:
        record_assembly_update(assembly, effect, place);
        break;
      case SiteKind::kCopyStore:
        record_assembly_copy(assembly, effect, place);
        break;
      case SiteKind::kLoad:
        record_assembly_access(assembly, effect, "load", assembly);
        break;
      default:
        record_assembly_access(assembly, effect, "store", place);
        break;
    }
  }

  void record_assembly_access(llvm::CallBase& assembly, const AssemblyEffect& effect,
                              llvm::StringRef function, llvm::Instruction& place) {
    in_pieces(effect.size, [&](std::uint32_t offset, std::uint32_t bytes) {
      const std::uint32_t number =
          context_.table.add(access(effect.kind, effect.address, nullptr, bytes));
      insert_at(&place, assembly);
      Value* address = offset_pointer(effect.address, effect.displacement + offset);
      if (function == "load") {
        call(function, number, address);
      } else {
        call(function, number, {address, builder_.getInt32(bytes)});
      }
    });
  }

  void record_assembly_copy(llvm::CallBase& assembly, const AssemblyEffect& effect,
                            llvm::Instruction& place) {
    insert_at(&place, assembly);
    const std::uint32_t sites = copy_sites(effect.address, effect.source, nullptr);
    Value* count = effect.count == nullptr
                       ? builder_.getInt64(1)
                       : builder_.CreateZExtOrTrunc(effect.count, builder_.getInt64Ty());
    Value* from = effect.source == nullptr ? llvm::ConstantPointerNull::get(builder_.getPtrTy())
                                           : offset_pointer(effect.source, 0);
    call("copied", sites,
         {offset_pointer(effect.address, 0), from,
          builder_.CreateMul(count, builder_.getInt64(effect.size))});
  }

  // Whether a cmpxchg wrote is told by the bytes before and after: other threads stand still
  // between two recorded operations.
  void record_assembly_update(llvm::CallBase& assembly, const AssemblyEffect& effect,
                              llvm::Instruction& place) {
    Site record = access(SiteKind::kAtomicUpdate, effect.address, nullptr, effect.size);
    record.flags = trace::kSiteFullFence;
    const std::uint32_t number = context_.table.add(std::move(record));
    llvm::Type* type = builder_.getIntNTy(effect.size * 8);

    insert_at(&assembly, assembly);
    Value* address = offset_pointer(effect.address, effect.displacement);
    call("atomic_before", number, address);
    auto read = [&] { return builder_.CreateAlignedLoad(type, address, llvm::Align(1), true); };
    Value* before = effect.may_fail ? read() : nullptr;

    insert_at(&place, assembly);
    Value* wrote = builder_.getInt32(1);
    if (effect.may_fail) {
      wrote = builder_.CreateZExt(builder_.CreateICmpNE(before, read()), builder_.getInt32Ty());
    }
    call("atomic_update", number, {address, builder_.getInt32(effect.size), wrote});
  }

  llvm::Function& function_;
  const Context& context_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> builder_;
  llvm::Instruction* base_ = nullptr;
  // Machine instructions since the last site. Below one half at the end of a block: it waits for
  // the next one, so that fractions even out over the function.
  double pending_ = 0;
  const llvm::DILocation* location_ = nullptr;
};

// ---- The module --------------------------------------------------------------------------------

// Functions that run before the program is relocated.
llvm::DenseSet<const llvm::Function*> resolvers(const llvm::Module& module) {
  llvm::DenseSet<const llvm::Function*> result;
  for (const llvm::GlobalIFunc& function : module.ifuncs()) {
    result.insert(function.getResolverFunction());
  }
  return result;
}

// Those that the compiler adds (__llvm_gcov_init) run before the module is registered.
bool is_instrumentable(const llvm::Function& function) {
  return !function.getName().starts_with("__llvm_") && !function.isDeclaration() &&
         !function.hasAvailableExternallyLinkage() &&
         !function.hasFnAttribute(llvm::Attribute::Naked) &&
         !function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation) &&
         !function.isPresplitCoroutine() && !function.getName().starts_with("pmemsim_rt_");
}

// An instrumented function does what its attributes exclude: it calls the runtime.
void drop_memory_attributes(llvm::Module& module) {
  auto drop = [](auto& callable) {
    callable.removeFnAttr(llvm::Attribute::Memory);
    callable.removeFnAttr(llvm::Attribute::NoSync);
    callable.removeFnAttr(llvm::Attribute::Speculatable);
  };
  for (llvm::Function& function : module) {
    if (function.isIntrinsic()) continue;
    drop(function);
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call) && !call->isInlineAsm()) {
        drop(*call);
      }
    }
  }
}

}  // namespace

bool instrument(llvm::Module& module, llvm::CodeGenOptLevel level) {
  const llvm::Triple triple(module.getTargetTriple());
  if (triple.getArch() != llvm::Triple::x86_64) {
    module.getContext().emitError("pmemsim records x86-64 programs only, not " + triple.str());
    return false;
  }
  std::vector<llvm::Function*> functions;
  const llvm::DenseSet<const llvm::Function*> before_relocation = resolvers(module);
  for (llvm::Function& function : module) {
    if (is_instrumentable(function) && !before_relocation.contains(&function)) {
      functions.push_back(&function);
    }
  }
  if (functions.empty() || module.getNamedMetadata(kMarker) != nullptr) return false;
  module.getOrInsertNamedMetadata(kMarker);

  const MachineCounts counts(module, level);
  if (!counts.problem().empty()) {
    warn(module, "instruction counts are estimates, because the code generator failed: " +
                     counts.problem() + ".");
  }
  const Dependences dependences(module);
  SiteTable table(module);
  RuntimeCalls runtime(module);
  const Context context{module, counts, dependences, table, runtime};
  drop_memory_attributes(module);
  for (llvm::Function* function : functions) FunctionInstrumenter(*function, context).run();
  if (table.empty()) return true;
  table.emit();
  return true;
}

}  // namespace pmemsim::pass
