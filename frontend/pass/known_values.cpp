#include "known_values.hpp"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TypeBasedAliasAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/Local.h>

#include <iterator>

#include "write_backs.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Instruction;
using llvm::Value;

// Tells alias analysis which calls leave memory unchanged; otherwise it would assume that pm.h's
// functions may write anywhere.
class KnownCalls : public llvm::AAResultBase {
 public:
  using AAResultBase::getMemoryEffects;
  llvm::MemoryEffects getMemoryEffects(const llvm::CallBase* call, llvm::AAQueryInfo&) {
    return writes_no_memory(*call) ? llvm::MemoryEffects::readOnly()
                                   : llvm::MemoryEffects::unknown();
  }
};

// True if computing the instruction again only costs time, wherever its operands are known.
bool can_be_repeated(const Instruction& instruction) {
  return !llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) && !instruction.isTerminator() &&
         !instruction.isEHPad() && !instruction.mayReadOrWriteMemory() &&
         !instruction.mayHaveSideEffects() && llvm::isSafeToSpeculativelyExecute(&instruction);
}

constexpr unsigned kMaxDepth = 12;

}  // namespace

struct KnownValues::Analyses {
  Analyses(llvm::Function& function, llvm::DominatorTree& tree)
      : library_names(llvm::Triple(function.getParent()->getTargetTriple())),
        library(library_names, &function),
        assumptions(function),
        basic(function.getDataLayout(), function, library, assumptions, &tree),
        alias(library) {
    alias.addAAResult(basic);
    alias.addAAResult(types);
    alias.addAAResult(calls);
    memory = std::make_unique<llvm::MemorySSA>(function, &alias, &tree);
  }

  llvm::TargetLibraryInfoImpl library_names;
  llvm::TargetLibraryInfo library;
  llvm::AssumptionCache assumptions;
  llvm::BasicAAResult basic;
  llvm::TypeBasedAAResult types;
  KnownCalls calls;
  llvm::AAResults alias;
  std::unique_ptr<llvm::MemorySSA> memory;
};

KnownValues::KnownValues(llvm::Function& function)
    : function_(function), tree_(function), analyses_(std::make_unique<Analyses>(function, tree_)) {
  for (auto part = llvm::scc_begin(&function); !part.isAtEnd(); ++part) {
    if (!part.hasCycle()) continue;
    in_loops_.insert(part->begin(), part->end());
  }
}

KnownValues::~KnownValues() = default;

// ---- Equal values ------------------------------------------------------------------------------

Location KnownValues::location_of(Value* pointer) {
  Location location{pointer, 0};
  for (;;) {
    llvm::APInt offset(64, 0);
    location.base =
        location.base->stripAndAccumulateConstantOffsets(function_.getDataLayout(), offset,
                                                         /*AllowNonInbounds=*/true);
    location.offset += offset.getSExtValue();
    auto* load = llvm::dyn_cast<llvm::LoadInst>(location.base);
    Value* stored = load == nullptr ? nullptr : forwarded(*load);
    if (stored == nullptr) return location;
    location.base = stored;
  }
}

bool KnownValues::same_location(const Location& a, const Location& b) {
  return a.offset == b.offset && same_value(a.base, b.base);
}

bool KnownValues::same_value(Value* a, Value* b, unsigned depth) {
  if (a == b) return true;
  auto* first = llvm::dyn_cast<Instruction>(a);
  auto* second = llvm::dyn_cast<Instruction>(b);
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(a)) {
    if (Value* stored = forwarded(*load)) return same_value(stored, b, depth);
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(b)) {
    if (Value* stored = forwarded(*load)) return same_value(a, stored, depth);
  }
  if (first == nullptr || second == nullptr || depth == kMaxDepth) return false;
  if (llvm::isa<llvm::LoadInst>(first) && llvm::isa<llvm::LoadInst>(second)) {
    return same_load(llvm::cast<llvm::LoadInst>(*first), llvm::cast<llvm::LoadInst>(*second));
  }
  if (!first->isSameOperationAs(second) || !can_be_repeated(*first)) return false;
  for (unsigned i = 0; i < first->getNumOperands(); ++i) {
    if (!same_value(first->getOperand(i), second->getOperand(i), depth + 1)) return false;
  }
  return true;
}

// True if both loads are from the same location, and nothing may have written there in between.
bool KnownValues::same_load(llvm::LoadInst& a, llvm::LoadInst& b) {
  llvm::MemorySSAWalker* walker = analyses_->memory->getWalker();
  return a.isSimple() && b.isSimple() && a.getType() == b.getType() &&
         walker->getClobberingMemoryAccess(&a) == walker->getClobberingMemoryAccess(&b) &&
         same_location(location_of(a.getPointerOperand()), location_of(b.getPointerOperand()));
}

llvm::Align KnownValues::alignment(const Location& location) const {
  return llvm::commonAlignment(llvm::getKnownAlignment(location.base, function_.getDataLayout()),
                               static_cast<std::uint64_t>(location.offset));
}

Value* KnownValues::forwarded(llvm::LoadInst& load) {
  if (!load.isSimple()) return nullptr;
  return stored_at(load.getPointerOperand(), 0, load.getType(), load);
}

Value* KnownValues::stored_at(Value* pointer, std::int64_t offset, llvm::Type* type,
                              Instruction& instruction) {
  Value* base = pointer;
  llvm::APInt behind_base(64, 0);
  base = base->stripAndAccumulateConstantOffsets(function_.getDataLayout(), behind_base, true);
  // Only the stores to local variables are known. A value that is loaded through a pointer remains
  // a load, which the program executes in any case.
  auto* variable = llvm::dyn_cast<llvm::AllocaInst>(base);
  if (variable == nullptr) return nullptr;
  offset += behind_base.getSExtValue();
  const llvm::DataLayout& layout = function_.getDataLayout();
  const llvm::TypeSize size = layout.getTypeStoreSize(type);
  llvm::MemoryAccess* from = state_before(instruction);
  for (;;) {
    llvm::MemoryAccess* access =
        last_writer(from, llvm::MemoryLocation::getBeforeOrAfter(variable));
    auto* writer = llvm::dyn_cast<llvm::MemoryDef>(access);
    if (writer == nullptr || analyses_->memory->isLiveOnEntryDef(writer)) return nullptr;
    auto* store = llvm::dyn_cast<llvm::StoreInst>(writer->getMemoryInst());
    if (store == nullptr || !store->isSimple()) return nullptr;
    llvm::APInt at(64, 0);
    if (store->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, at, true) !=
        variable) {
      return nullptr;
    }
    const std::int64_t begin = at.getSExtValue();
    const std::int64_t end =
        begin + static_cast<std::int64_t>(
                    layout.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue());
    if (begin == offset && store->getValueOperand()->getType() == type) {
      return store->getValueOperand();
    }
    if (begin < offset + static_cast<std::int64_t>(size.getFixedValue()) && offset < end) {
      return nullptr;
    }
    from = writer->getDefiningAccess();
  }
}

// ---- Memory ------------------------------------------------------------------------------------

llvm::MemoryAccess* KnownValues::state_before(const Instruction& instruction) const {
  const llvm::MemorySSA& memory = *analyses_->memory;
  const llvm::BasicBlock* block = instruction.getParent();
  for (const Instruction* before = instruction.getPrevNode(); before != nullptr;
       before = before->getPrevNode()) {
    llvm::MemoryAccess* access = memory.getMemoryAccess(before);
    if (access != nullptr && llvm::isa<llvm::MemoryDef>(access)) return access;
  }
  for (;;) {
    if (llvm::MemoryAccess* phi = memory.getMemoryAccess(block)) return phi;
    const llvm::DomTreeNode* above = tree_.getNode(block)->getIDom();
    if (above == nullptr) return memory.getLiveOnEntryDef();
    block = above->getBlock();
    if (const auto* writers = memory.getBlockDefs(block)) {
      return const_cast<llvm::MemoryAccess*>(&*writers->rbegin());
    }
  }
}

llvm::MemoryAccess* KnownValues::last_writer(llvm::MemoryAccess* from,
                                             const llvm::MemoryLocation& location) {
  return analyses_->memory->getWalker()->getClobberingMemoryAccess(from, location);
}

llvm::MemoryAccess* KnownValues::writer_before(llvm::MemoryAccess& writer) const {
  return llvm::cast<llvm::MemoryDef>(writer).getDefiningAccess();
}

// ---- Positions ---------------------------------------------------------------------------------

// (DominatorTree::dominates() would also require that the instruction succeeds: an invoke may
// throw.)
bool KnownValues::is_before(const Instruction* a, const Instruction* b) const {
  if (a->getParent() == b->getParent()) return a->comesBefore(b);
  return tree_.dominates(a->getParent(), b->getParent());
}

Instruction* KnownValues::later(Instruction* a, Instruction* b) const {
  return is_before(a, b) ? b : a;
}

Instruction* KnownValues::behind(Instruction& instruction) {
  const auto point = instruction.getInsertionPointAfterDef();
  return point ? &**point : nullptr;
}

Instruction* KnownValues::beginning_of(llvm::BasicBlock& block) {
  auto point = block.getFirstInsertionPt();
  while (llvm::isa<llvm::AllocaInst>(*point) || llvm::isa<llvm::DbgInfoIntrinsic>(*point)) ++point;
  return &*point;
}

Instruction* KnownValues::behind_writer(llvm::MemoryAccess& writer, Instruction* from,
                                        Instruction& reader) const {
  if (analyses_->memory->isLiveOnEntryDef(&writer)) return from;
  Instruction* position = nullptr;
  if (auto* def = llvm::dyn_cast<llvm::MemoryDef>(&writer)) {
    Instruction* instruction = def->getMemoryInst();
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(instruction)) {
      position = beginning_of(*invoke->getNormalDest());
    } else {
      position = instruction->isTerminator() ? nullptr : instruction->getNextNode();
    }
  } else {
    position = beginning_of(*writer.getBlock());
  }
  // The writer may have thrown, and the reader may be behind the handler.
  const bool on_the_way = position != nullptr && is_before(position, &reader);
  return later(from, on_the_way ? position : &reader);
}

Instruction* KnownValues::safe_from(Instruction& access, Value* pointer, std::uint64_t bytes,
                                    Instruction* from) {
  const Location location = location_of(pointer);
  bool may_be_null = true, may_be_freed = true;
  const std::uint64_t known = location.base->getPointerDereferenceableBytes(
      function_.getDataLayout(), may_be_null, may_be_freed);
  if (bytes > 0 && !may_be_null && location.offset >= 0 &&
      static_cast<std::uint64_t>(location.offset) + bytes <= known) {
    return from;
  }
  // Otherwise the access isn't moved before an instruction that may end the program, or that
  // decides whether to execute the access.
  Instruction* position = &access;
  while (position != from) {
    Instruction* before = position->getPrevNode();
    if (before == nullptr || llvm::isa<llvm::PHINode>(before) || before->isEHPad() ||
        !llvm::isGuaranteedToTransferExecutionToSuccessor(before)) {
      break;
    }
    position = before;
  }
  return later(from, position);
}

Instruction* KnownValues::computable_from(Value* value, Instruction* from) {
  auto* instruction = llvm::dyn_cast<Instruction>(value);
  if (instruction == nullptr || tree_.dominates(instruction, from)) return from;
  if (computable_for_ != from) computable_.clear();
  computable_for_ = from;
  if (const auto known = computable_.find(value); known != computable_.end()) return known->second;

  Instruction* position = from;
  auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction);
  if (load != nullptr && load->isSimple()) {
    position = loadable_from(*load, from);
  } else if (can_be_repeated(*instruction)) {
    for (Value* operand : instruction->operands()) {
      Instruction* operand_from = computable_from(operand, from);
      position = position && operand_from ? later(position, operand_from) : nullptr;
    }
  } else {
    position = behind(*instruction);
    const bool known = position != nullptr && tree_.dominates(instruction, position);
    position = known ? later(from, position) : nullptr;
  }
  computable_[value] = position;
  return position;
}

Instruction* KnownValues::loadable_from(llvm::LoadInst& load, Instruction* from) {
  if (Value* stored = forwarded(load)) return computable_from(stored, from);
  Instruction* position = computable_from(load.getPointerOperand(), from);
  llvm::MemoryAccess* writer = analyses_->memory->getWalker()->getClobberingMemoryAccess(&load);
  if (position != nullptr) position = behind_writer(*writer, position, load);
  if (position == nullptr) return nullptr;
  const llvm::TypeSize size = function_.getDataLayout().getTypeStoreSize(load.getType());
  position = safe_from(load, load.getPointerOperand(), size.getFixedValue(), position);
  return position == &load ? behind(load) : position;
}

Value* KnownValues::compute(Value* value, Instruction* position) {
  auto* instruction = llvm::dyn_cast<Instruction>(value);
  if (instruction == nullptr || tree_.dominates(instruction, position)) return value;
  auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction);
  if (load != nullptr) {
    if (Value* stored = forwarded(*load)) return compute(stored, position);
    load->setOperand(llvm::LoadInst::getPointerOperandIndex(),
                     compute(load->getPointerOperand(), position));
    load->dropUBImplyingAttrsAndMetadata();
    load->moveBefore(position);
    return load;
  }
  Instruction* again = instruction->clone();
  for (llvm::Use& operand : again->operands()) operand.set(compute(operand.get(), position));
  again->insertBefore(position);
  return again;
}

}  // namespace pmemsim::pass
