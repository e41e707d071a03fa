#include "recorder.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "library_costs.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::pass {

using llvm::Value;
using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

namespace {

// True if the call has the arguments and the result from which its units follow. A program's own
// function may have the name of a library function; its signature then differs.
bool has_units_of(const LibraryCost& cost, const llvm::CallBase& call) {
  const unsigned pointers =
      cost.units == Units::kCommonBytes || cost.units == Units::kCommonString ? 2 : 1;
  if (cost.units == Units::kNone || call.arg_size() < cost.argument + pointers) return false;
  if (cost.units == Units::kResultString) return call.getType()->isPointerTy();
  for (unsigned i = 0; reads_memory(cost.units) && i < pointers; ++i) {
    if (!call.getArgOperand(cost.argument + i)->getType()->isPointerTy()) return false;
  }
  return (cost.units != Units::kFound && cost.units != Units::kFoundInString) ||
         call.getType()->isPointerTy();
}

bool has_line(const llvm::Instruction& instruction) {
  const llvm::DebugLoc& location = instruction.getDebugLoc();
  return location && location.getLine() != 0;
}

}  // namespace

void warn(const llvm::Module& module, const llvm::Twine& text) {
  llvm::errs() << "pmemsim: " << module.getSourceFileName() << ": " << text << '\n';
}

void warn_partial(RuntimeCalls& runtime, llvm::IRBuilder<>& builder, const llvm::Module& module,
                  unsigned line, const llvm::Twine& problem, Value* address) {
  static llvm::StringSet<> warned;  // the optimizer may have copied the code
  const std::string note =
      (module.getSourceFileName() + ":" + llvm::Twine(line) + ": " + problem).str();
  if (warned.insert(note).second) {
    warn(module, "line " + llvm::Twine(line) + ": " + problem + ".");
  }
  if (address == nullptr) address = llvm::ConstantPointerNull::get(builder.getPtrTy());
  runtime.call(builder, "partial", builder.getVoidTy(),
               {builder.CreateGlobalString(note), address});
}

unsigned own_line(const llvm::DILocation* location, const llvm::Function& function) {
  const llvm::DISubprogram* own = function.getSubprogram();
  while (location != nullptr && own != nullptr &&
         location->getFile() != own->getUnit()->getFile() && location->getInlinedAt() != nullptr) {
    location = location->getInlinedAt();
  }
  return location != nullptr ? location->getLine() : 0;
}

Recorder::Recorder(llvm::Function& function, const Context& context)
    : function_(function),
      context_(context),
      layout_(function.getParent()->getDataLayout()),
      builder_(function.getContext()) {}

// ---- Traversal of the function -----------------------------------------------------------------

void Recorder::enter(const std::vector<llvm::Instruction*>& block) {
  location_ = nullptr;
  for (const llvm::Instruction* instruction : block) {
    if (has_line(*instruction)) {
      location_ = instruction->getDebugLoc().get();
      return;
    }
  }
}

void Recorder::reach(const llvm::Instruction& instruction) {
  if (has_line(instruction)) location_ = instruction.getDebugLoc().get();
  pending_ += context_.counts.of(instruction).instructions;
}

void Recorder::warn_partial(llvm::Instruction& instruction, const llvm::Twine& problem,
                            Value* address) {
  builder_.SetInsertPoint(&instruction);
  pass::warn_partial(context_.runtime, builder_, context_.module, own_line(location_, function_),
                     problem, address);
}

// ---- Sites -------------------------------------------------------------------------------------

Site Recorder::site(SiteKind kind) {
  Site site{.kind = kind};
  site.instructions = take_pending();
  site.location = location_;
  site.function = &function_;
  return site;
}

Site Recorder::access(SiteKind kind, Value* address, Value* data, std::uint32_t size) {
  Site result = site(kind);
  result.size = static_cast<std::uint8_t>(size);
  result.address_dependences = context_.dependences.of_address(address);
  if (data != nullptr) result.data_dependences = context_.dependences.of_value(data);
  return result;
}

std::uint32_t Recorder::take_pending() {
  const double whole = std::max(0.0, std::floor(pending_ + 0.5));
  pending_ -= whole;
  return static_cast<std::uint32_t>(whole);
}

// Returns the site's number at run time: the module's first one, loaded once per call of the
// function, plus a constant.
Value* Recorder::number(std::uint32_t site) {
  if (base_ == nullptr) {
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    llvm::BasicBlock& entry = function_.getEntryBlock();
    builder_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    builder_.SetCurrentDebugLocation({});
    base_ = builder_.CreateLoad(builder_.getInt32Ty(), &context_.table.base());
  }
  return builder_.CreateAdd(base_, builder_.getInt32(site));
}

// ---- Positions ---------------------------------------------------------------------------------

llvm::Instruction* Recorder::after(llvm::Instruction& instruction) {
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

// Returns the successor itself if it has no other predecessor, or a new block in between.
llvm::BasicBlock* Recorder::own_successor(llvm::Instruction& terminator,
                                          llvm::BasicBlock* successor) {
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

void Recorder::insert_at(llvm::Instruction* place, const llvm::Instruction& on_behalf_of) {
  builder_.SetInsertPoint(place);
  builder_.SetCurrentDebugLocation(on_behalf_of.getDebugLoc());
}

// ---- Calls of the runtime ----------------------------------------------------------------------

llvm::CallInst* Recorder::call(llvm::StringRef name, std::uint32_t site,
                               llvm::ArrayRef<Value*> arguments, llvm::Type* result) {
  llvm::SmallVector<Value*, 6> all = {number(site)};
  all.append(arguments.begin(), arguments.end());
  return context_.runtime.call(builder_, name, result != nullptr ? result : builder_.getVoidTy(),
                               all);
}

void Recorder::flush_pending(llvm::Instruction& before) {
  Site execute = site(SiteKind::kExecute);
  if (execute.instructions == 0) return;
  if (llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(before)) execute.flags = trace::kSiteExit;
  builder_.SetInsertPoint(&before);
  call("execute", add(std::move(execute)));
}

void Recorder::record_place(llvm::CallBase& hint) {
  Site place = site(SiteKind::kExecute);
  builder_.SetInsertPoint(&hint);
  call("execute", add(std::move(place)));
}

void Recorder::record_indirect_branch(llvm::Instruction& branch, Value* target) {
  Site record = site(SiteKind::kIndirectBranch);
  record.data_dependences = context_.dependences.of_value(target);
  builder_.SetInsertPoint(&branch);
  call("indirect_branch", add(std::move(record)), target);
}

std::uint32_t Recorder::size_of(llvm::Type* type) const {
  return static_cast<std::uint32_t>(layout_.getTypeStoreSize(type).getKnownMinValue());
}

Value* Recorder::offset_pointer(Value* address, std::int64_t offset) {
  if (!address->getType()->isPointerTy()) {
    address = builder_.CreateIntToPtr(address, builder_.getPtrTy());
  }
  return offset == 0 ? address : builder_.CreateConstGEP1_64(builder_.getInt8Ty(), address, offset);
}

void Recorder::record_loads(llvm::Instruction& load, Value* address, std::uint32_t size) {
  llvm::Instruction* place = after(load);
  in_segments(size, [&](std::uint32_t offset, std::uint32_t bytes) {
    const std::uint32_t number = add(access(SiteKind::kLoad, address, nullptr, bytes));
    if (offset == 0) context_.table.set_source(load, number);
    insert_at(place, load);
    call("load", number, offset_pointer(address, offset));
  });
}

void Recorder::record_stores(llvm::Instruction& store, SiteKind kind, Value* address, Value* data,
                             std::uint32_t size) {
  llvm::Instruction* place = after(store);
  in_segments(size, [&](std::uint32_t offset, std::uint32_t bytes) {
    const std::uint32_t number = add(access(kind, address, data, bytes));
    insert_at(place, store);
    call("store", number, {offset_pointer(address, offset), builder_.getInt32(bytes)});
  });
}

void Recorder::record_fence(llvm::Instruction& fence, FenceKind kind) {
  Site record = site(SiteKind::kFence);
  record.detail = static_cast<std::uint8_t>(kind);
  builder_.SetInsertPoint(&fence);
  call("fence", add(std::move(record)));
}

void Recorder::record_flush(llvm::Instruction& flush, FlushKind kind, Value* address,
                            std::int64_t displacement) {
  Site record = access(SiteKind::kFlush, address, nullptr, 0);
  record.detail = static_cast<std::uint8_t>(kind);
  builder_.SetInsertPoint(&flush);
  call("flush", add(std::move(record)), offset_pointer(address, displacement));
}

// Returns an argument or a result as the runtime reads it; -1 if it is no integer or pointer.
Value* Recorder::as_number(Value* value) {
  if (value->getType()->isPointerTy()) {
    return builder_.CreatePtrToInt(value, builder_.getInt64Ty());
  }
  if (value->getType()->isIntegerTy())
    return builder_.CreateSExtOrTrunc(value, builder_.getInt64Ty());
  return builder_.getInt64(-1);
}

void Recorder::record_external(llvm::Instruction& instruction, llvm::StringRef name) {
  const std::uint32_t number = add(site(SiteKind::kExecute));
  const auto* call_base = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const bool named = call_base != nullptr && !llvm::isa<llvm::IntrinsicInst>(instruction);
  Value* callee =
      named ? call_base->getCalledOperand() : llvm::ConstantPointerNull::get(builder_.getPtrTy());
  builder_.SetInsertPoint(&instruction);
  Value* before = call("external_before", number, {builder_.CreateGlobalString(name), callee},
                       builder_.getInt64Ty());
  const bool returns = call_base == nullptr || !call_base->doesNotReturn();
  if (returns) insert_at(after(instruction), instruction);
  Value* none = builder_.getInt64(-1);
  std::array<Value*, 5> arguments = {before, none, none, none, none};
  const LibraryCost* cost = library_cost({name.data(), name.size()});
  if (named && returns && cost != nullptr && has_units_of(*cost, *call_base)) {
    for (unsigned i = 0; i < 3 && cost->argument + i < call_base->arg_size(); ++i) {
      arguments[i + 1] = as_number(call_base->getArgOperand(cost->argument + i));
    }
    arguments[4] = as_number(&instruction);
  }
  call("external_after", number, arguments);
}

}  // namespace pmemsim::pass
