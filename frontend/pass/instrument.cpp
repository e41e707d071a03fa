#include "instrument.hpp"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assembly.hpp"
#include "conditions.hpp"
#include "copies.hpp"
#include "hint_calls.hpp"
#include "intrinsics.hpp"
#include "library_costs.hpp"
#include "library_functions.hpp"
#include "pmemsim_rt.h"
#include "recorder.hpp"
#include "recurrences.hpp"
#include "switches.hpp"
#include "transactions.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Value;
using trace::FenceKind;
using trace::SiteKind;

constexpr llvm::StringRef kMarker = "pmemsim.instrumented";

// True if the instruction may acquire a lock. Updates that add or set bits don't count: programs
// use them for counters and flags.
bool may_take_lock(const llvm::Instruction& atomic) {
  const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&atomic);
  return llvm::isa<llvm::AtomicCmpXchgInst>(atomic) ||
         (update != nullptr && update->getOperation() == llvm::AtomicRMWInst::Xchg);
}

// Returns the name of the library function that the code generator calls for the instruction.
llvm::StringRef compiler_function(const llvm::Instruction& instruction) {
  const bool single = instruction.getType()->isFloatTy();
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FRem:
      return single ? "fmodf" : "fmod";
    case llvm::Instruction::UDiv:
      return "__udivti3";
    case llvm::Instruction::SDiv:
      return "__divti3";
    case llvm::Instruction::URem:
      return "__umodti3";
    case llvm::Instruction::SRem:
      return "__modti3";
    default:
      return instruction.getOpcodeName();
  }
}

class FunctionInstrumenter {
 public:
  FunctionInstrumenter(llvm::Function& function, const Context& context,
                       llvm::CodeGenOptLevel level)
      : function_(function),
        recorder_(function, context),
        builder_(recorder_.builder()),
        stack_stores_(level == llvm::CodeGenOptLevel::None) {}

  void run() {
    // Instrumenting splits blocks, so all instructions are listed first.
    std::vector<std::vector<llvm::Instruction*>> blocks;
    for (llvm::BasicBlock& block : function_) {
      blocks.emplace_back();
      for (llvm::Instruction& instruction : block) blocks.back().push_back(&instruction);
    }
    for (const auto& block : blocks) {
      const std::uint32_t first = recorder_.context().table.size();
      recorder_.enter(block);
      if (stack_stores_ && &block == &blocks.front()) record_pushes(*block.front());
      record_recurrences(block);
      for (std::size_t i = 0; i < block.size(); ++i) {
        recorder_.reach(*block[i]);
        const bool spilled = stack_stores_ && recorder_.context().counts.of(*block[i]).spilled;
        const llvm::WeakTrackingVH result(block[i]);  // a copy's call is erased
        visit(*block[i]);
        if (spilled && result == block[i] && i + 1 < block.size())
          record_spill(*block[i], *block[i + 1]);
      }
      if (&block == &blocks.front()) note_entry(first);
    }
  }

 private:
  // Marks the first site of the entry block: control never returns to that block within a call.
  void note_entry(std::uint32_t first) {
    SiteTable& table = recorder_.context().table;
    if (table.size() > first) table.set_entry(first);
  }

  // ---- Stores to the stack that the code generator adds to the program's own stores
  // --------------

  // Records the pushes of the return address and of the caller's frame pointer.
  void record_pushes(llvm::Instruction& first) {
    builder_.SetInsertPoint(&*first.getParent()->getFirstInsertionPt());
    llvm::Value* top = builder_.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                                {builder_.getPtrTy()}, {});
    record_push(top, 0);
    if (function_.getFnAttribute("frame-pointer").getValueAsString() == "all")
      record_push(top, -kWordBytes);
  }

  void record_push(llvm::Value* top, std::int64_t offset) {
    Site site = recorder_.site(SiteKind::kStore);
    site.size = kWordBytes;
    const std::uint32_t number = recorder_.add(std::move(site));
    llvm::Value* caller =
        builder_.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {builder_.getInt32(0)});
    recorder_.call("pushed", number, {recorder_.offset_pointer(top, offset), caller});
  }

  // Records a result that the code generator spills, as a store to a variable of its own.
  void record_spill(llvm::Instruction& result, llvm::Instruction& next) {
    llvm::Type* type = result.getType();
    if (!type->isIntegerTy() && !type->isPointerTy()) return;
    llvm::BasicBlock& entry = function_.getEntryBlock();
    builder_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    llvm::Value* place = builder_.CreateAlloca(type);
    recorder_.insert_at(&next, result);
    llvm::StoreInst* store = builder_.CreateStore(&result, place);
    recorder_.record_stores(*store, SiteKind::kStore, place, &result, recorder_.size_of(type));
  }

  // Records all recurrences of a loop's head behind its phis, in their order.
  void record_recurrences(const std::vector<llvm::Instruction*>& block) {
    llvm::Instruction* place = &*block.front()->getParent()->getFirstInsertionPt();
    for (llvm::Instruction* instruction : block) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction);
      if (phi == nullptr) return;
      if (recorder_.context().dependences.is_recurrence(*phi)) record_recurrence(*phi, place);
    }
  }

  void record_recurrence(llvm::PHINode& phi, llvm::Instruction* place) {
    const Context& context = recorder_.context();
    Site site = recorder_.site(SiteKind::kRecurrence);
    site.address_dependences = context.dependences.of_first(phi);
    site.data_dependences = context.dependences.of_next(phi);
    const std::uint32_t number = recorder_.add(std::move(site));
    context.table.set_source(phi, number);
    builder_.SetInsertPoint(&phi);
    llvm::PHINode* loop_carried =
        builder_.CreatePHI(builder_.getInt32Ty(), phi.getNumIncomingValues());
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      loop_carried->addIncoming(builder_.getInt32(context.loop_phis.is_loop_carried(phi, i)),
                                phi.getIncomingBlock(i));
    }
    recorder_.insert_at(place, phi);
    recorder_.call("recurrence", number, loop_carried);
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
      // Weaker fences, and fences between a thread and its signal handlers, are no instructions:
      // they restrict the compiler only.
      if (fence->getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent &&
          fence->getSyncScopeID() == llvm::SyncScope::System) {
        recorder_.record_fence(instruction, FenceKind::kMfence);
      }
    } else if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
               branch != nullptr && branch->isConditional()) {
      visit_branch(*branch);
    } else if (auto* jump = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
      visit_table_jump(*jump);
    } else if (auto* jump = llvm::dyn_cast<llvm::IndirectBrInst>(&instruction)) {
      recorder_.record_indirect_branch(*jump, jump->getAddress());
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      visit_call(*call);
    } else if (instruction.isTerminator()) {
      // Nothing can be inserted behind a musttail call, which has counted its return.
      if (instruction.getParent()->getTerminatingMustTailCall() == nullptr) {
        recorder_.flush_pending(instruction);
      } else {
        recorder_.forget_pending();
      }
    } else if (llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction) &&
               recorder_.context().counts.of(instruction).calls) {
      recorder_.record_external(instruction, compiler_function(instruction));
    }
  }

  void visit_load(llvm::LoadInst& load) {
    Value* address = load.getPointerOperand();
    if (!is_ordinary_memory(address)) return;
    if (load.isAtomic()) {
      record_atomic(load, SiteKind::kAtomicLoad, address, nullptr, load.getType(), false);
    } else {
      recorder_.record_loads(load, address, recorder_.size_of(load.getType()));
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
    recorder_.record_stores(store, non_temporal ? SiteKind::kNonTemporal : SiteKind::kStore,
                            address, data, recorder_.size_of(data->getType()));
  }

  void visit_branch(llvm::BranchInst& branch) {
    Site outcome = recorder_.site(SiteKind::kBranch);
    outcome.data_dependences = recorder_.context().dependences.of_value(branch.getCondition());
    builder_.SetInsertPoint(&branch);
    recorder_.call("branch", recorder_.add(std::move(outcome)),
                   builder_.CreateZExt(branch.getCondition(), builder_.getInt32Ty()));
  }

  // Records the jump through the table, and the range check before it unless all values are inside.
  void visit_table_jump(llvm::SwitchInst& jump) {
    const DependenceSet dependences = recorder_.context().dependences.of_value(jump.getCondition());
    const JumpTable table = jump_table(jump);
    builder_.SetInsertPoint(&jump);
    Value* entry = builder_.CreateSub(jump.getCondition(), builder_.getInt(table.first));
    Value* outside = builder_.getFalse();
    if (!is_unreachable(*jump.getDefaultDest())) {
      outside = builder_.CreateICmpUGT(entry, builder_.getInt(table.range));
      Site check = recorder_.site(SiteKind::kBranch);
      check.data_dependences = dependences;
      recorder_.call("branch", recorder_.add(std::move(check)),
                     builder_.CreateZExt(outside, builder_.getInt32Ty()));
    }
    recorder_.count(recorder_.context().counts.of(jump).jump);
    Site site = recorder_.site(SiteKind::kIndirectBranch);
    site.data_dependences = dependences;
    entry = builder_.CreateSelect(outside, llvm::ConstantInt::get(entry->getType(), 0), entry);
    entry = builder_.CreateZExtOrTrunc(entry, builder_.getInt64Ty());
    Value* target =
        builder_.CreateLoad(builder_.getInt32Ty(),
                            builder_.CreateInBoundsGEP(table.targets->getValueType(), table.targets,
                                                       {builder_.getInt64(0), entry}));
    target = builder_.CreateSelect(outside, builder_.getInt32(PMEMSIM_RT_NO_TARGET), target);
    recorder_.call("table_jump", recorder_.add(std::move(site)), target);
  }

  // The entries of a jump table, as numbers of the jump's successors.
  struct JumpTable {
    llvm::APInt first;  // value of the first entry
    llvm::APInt range;  // the last entry's value minus the first one's
    llvm::GlobalVariable* targets;
  };

  JumpTable jump_table(llvm::SwitchInst& jump) {
    llvm::APInt first = jump.case_begin()->getCaseValue()->getValue(), last = first;
    for (const auto& each : jump.cases()) {
      first = llvm::APIntOps::smin(first, each.getCaseValue()->getValue());
      last = llvm::APIntOps::smax(last, each.getCaseValue()->getValue());
    }
    llvm::DenseMap<const llvm::BasicBlock*, std::uint32_t> numbers;
    const auto number = [&](const llvm::BasicBlock* block) {
      return numbers.try_emplace(block, numbers.size()).first->second;
    };
    const llvm::APInt range = last - first;
    std::vector<std::uint32_t> targets(range.getZExtValue() + 1, number(jump.getDefaultDest()));
    for (const auto& each : jump.cases()) {
      targets[(each.getCaseValue()->getValue() - first).getZExtValue()] =
          number(each.getCaseSuccessor());
    }
    llvm::Constant* values = llvm::ConstantDataArray::get(jump.getContext(), targets);
    auto* variable =
        new llvm::GlobalVariable(recorder_.context().module, values->getType(), true,
                                 llvm::GlobalValue::PrivateLinkage, values, "pmemsim_targets");
    return {first, range, variable};
  }

  void record_atomic(llvm::Instruction& atomic, SiteKind kind, Value* address, Value* data,
                     llvm::Type* type, bool full_fence) {
    if (!is_ordinary_memory(address)) return;
    const std::uint32_t size = recorder_.size_of(type);
    Site record = recorder_.access(kind, address, data, size);
    record.flags = full_fence ? trace::kSiteFullFence : 0;
    if (may_take_lock(atomic)) record.detail = static_cast<std::uint8_t>(trace::LockRole::kTakes);
    const std::uint32_t number = recorder_.add(std::move(record));
    recorder_.context().table.set_source(atomic, number);
    recorder_.insert_at(&atomic, atomic);
    recorder_.call("atomic_before", number, address);
    recorder_.insert_at(recorder_.after(atomic), atomic);
    if (kind == SiteKind::kAtomicUpdate) {
      Value* wrote = builder_.getInt32(1);
      if (llvm::isa<llvm::AtomicCmpXchgInst>(atomic)) {
        wrote = builder_.CreateZExt(builder_.CreateExtractValue(&atomic, 1), builder_.getInt32Ty());
      }
      recorder_.call("atomic_update", number, {address, builder_.getInt32(size), wrote});
    } else {
      recorder_.call(kind == SiteKind::kAtomicLoad ? "atomic_load" : "atomic_store", number,
                     {address, builder_.getInt32(size)});
    }
  }

  // ---- Calls ---------------------------------------------------------------------------------

  void visit_call(llvm::CallBase& call) {
    const bool ends_block = call.isTerminator();  // read now: a copy's call is erased
    if (call.isInlineAsm()) {
      record_assembly(recorder_, call);
    } else if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
      record_intrinsic(recorder_, *intrinsic);
    } else if (call.isMustTailCall()) {
      recorder_.count(1);  // the return, which nothing can be inserted before
      record_call(call);
    } else {
      visit_function_call(call);
    }
    if (ends_block) recorder_.forget_pending();
  }

  void record_call(llvm::CallBase& call) {
    const llvm::Function* callee = call.getCalledFunction();
    if (callee != nullptr && is_hint(callee->getName())) {
      recorder_.record_place(call);
    } else if (call.isIndirectCall()) {
      recorder_.record_indirect_branch(call, call.getCalledOperand());
    } else {
      recorder_.flush_pending(call);
    }
  }

  void visit_function_call(llvm::CallBase& call) {
    if (is_openmp_flush(call)) recorder_.record_fence(call, FenceKind::kMfence);
    if (is_atomic_function(call)) {
      recorder_.warn_partial(call, "atomic accesses by '" + call.getCalledFunction()->getName() +
                                       "' (libatomic) are not recorded");
    }
    const LibraryCall library = library_call(call);
    if (library == LibraryCall::kOther) {
      if (may_be_external(call)) {
        recorder_.record_external(call, call.getCalledFunction()->getName());
      } else {
        record_call(call);
      }
      if (const auto write = library_write(call)) {
        recorder_.insert_at(recorder_.after(call), call);
        record_library_write(call, *write);
      }
      if (recorder_.context().opens_streams) record_stream_write(call);
    } else {
      replace_library_copy(recorder_, call, library);
    }
  }

  // Records what a library function puts into a stream's buffer, behind the call.
  void record_stream_write(llvm::CallBase& call) {
    const auto write = stream_write(call);
    if (!write) return;
    recorder_.insert_at(recorder_.after(call), call);
    Value* stream = call.getArgOperand(write->stream);
    if (write->bytes != StreamWrite::kNone) {
      Value* bytes = call.getArgOperand(write->bytes);
      const std::uint32_t sites = copy_sites(recorder_, stream, bytes, nullptr);
      recorder_.call("put_copy", sites, {stream, bytes});
      return;
    }
    Site store = recorder_.access(SiteKind::kCopyStore, stream, nullptr, 0);
    store.data_dependences = recorder_.context().dependences.of_arguments(call);
    recorder_.call("put_text", recorder_.add(std::move(store)), {stream});
  }

  // Records a library function's write, behind the call, at the builder's position.
  void record_library_write(llvm::CallBase& call, const LibraryWrite& write) {
    using Bytes = LibraryWrite::Bytes;
    const bool to_result = write.destination == LibraryWrite::kNone;
    Value* to = to_result ? &call : call.getArgOperand(static_cast<unsigned>(write.destination));
    const bool text = write.bytes == Bytes::kPrinted && recorder_.context().sends_data;
    Site store = recorder_.access(SiteKind::kCopyStore, to, nullptr, 0);
    if (text) store.data_dependences = recorder_.context().dependences.of_arguments(call);
    const std::uint32_t number = recorder_.add(std::move(store));
    if (write.bytes == Bytes::kString) {
      // The argument is the returned pointer, because it is null when nothing was written.
      recorder_.call("wrote_string", number, &call);
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
    recorder_.call(text ? "printed" : "wrote", number, {to, bytes});
  }

  // True if another module or a library defines the function, which may not be instrumented:
  //   - Hints are excluded. They aren't part of the program that other designs run.
  //   - Calls that return twice are excluded. Nothing can be recorded behind them.
  //   - Calls that never return are included if their cost is known.
  static bool may_be_external(const llvm::CallBase& call) {
    const llvm::Function* callee = call.getCalledFunction();
    return callee != nullptr && callee->isDeclaration() && !callee->isIntrinsic() &&
           !call.hasFnAttr(llvm::Attribute::ReturnsTwice) &&
           !callee->getName().starts_with("pmemsim_rt_") && !is_hint(callee->getName()) &&
           (!call.doesNotReturn() || library_cost(callee->getName()) != nullptr);
  }

  static constexpr std::int64_t kWordBytes = 8;

  llvm::Function& function_;
  Recorder recorder_;
  llvm::IRBuilder<>& builder_;
  bool stack_stores_;  // recorded only if set: without optimization they are half of all stores
};

// ---- The module --------------------------------------------------------------------------------

// Returns the functions that run before the program is relocated.
llvm::DenseSet<const llvm::Function*> resolvers(const llvm::Module& module) {
  llvm::DenseSet<const llvm::Function*> result;
  for (const llvm::GlobalIFunc& function : module.ifuncs()) {
    result.insert(function.getResolverFunction());
  }
  return result;
}

// True if the function can be instrumented. Those that the compiler adds (__llvm_gcov_init) run
// before the module is registered.
bool is_instrumentable(const llvm::Function& function) {
  return !function.getName().starts_with("__llvm_") && !function.isDeclaration() &&
         !function.hasAvailableExternallyLinkage() &&
         !function.hasFnAttribute(llvm::Attribute::Naked) &&
         !function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation) &&
         !function.isPresplitCoroutine() && !function.getName().starts_with("pmemsim_rt_");
}

// Removes attributes that an instrumented function violates, because it calls the runtime.
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

  RuntimeCalls runtime(module);
  abort_transactions(module, runtime);
  std::string problem;
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine(module, level, problem);
  if (machine == nullptr) {
    module.getContext().emitError("pmemsim can't record the program: " + problem);
    return false;
  }
  lower_switches(functions, *machine);
  MachineCounts counts(module, *machine);
  if (split_conditions(functions, counts)) counts = MachineCounts(module, *machine);
  if (!counts.problem().empty()) {
    warn(module, "instruction counts are estimates, because the code generator failed: " +
                     counts.problem() + ".");
  }
  const LoopPhis loop_phis(module);
  const Dependences dependences(module, loop_phis, find_recurrences(module, loop_phis));
  SiteTable table(module);
  const Context context{module, counts,  loop_phis,          dependences,
                        table,  runtime, sends_data(module), opens_streams(module)};
  drop_memory_attributes(module);
  for (llvm::Function* function : functions) FunctionInstrumenter(*function, context, level).run();
  if (table.empty()) return true;
  table.emit();
  return true;
}

}  // namespace pmemsim::pass
