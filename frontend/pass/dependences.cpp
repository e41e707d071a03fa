#include "dependences.hpp"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::pass {
namespace {

// Latencies of current x86 cores (Agner Fog's instruction tables, Skylake), in cycles.
constexpr unsigned kSimple = 1, kMultiply = 3, kDivide = 23, kDivideByConstant = 5;
constexpr unsigned kFloat = 4, kFloatDivide = 13, kFloatRoot = 18, kConvert = 5, kBitCount = 3;

bool is_source(const llvm::Value* value) {
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
    return intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_load ||
           intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_gather;
  }
  return llvm::isa<llvm::LoadInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(value);
}

unsigned integer_division(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::Constant>(instruction.getOperand(1)) ? kDivideByConstant : kDivide;
}

unsigned intrinsic_latency(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::sqrt:
      return kFloatRoot;
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
      return kFloat;
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::smul_with_overflow:
    case llvm::Intrinsic::umul_with_overflow:
      return kBitCount;
    default:
      return kSimple;
  }
}

unsigned latency(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::PHI:
    case llvm::Instruction::ExtractValue:
    case llvm::Instruction::InsertValue:
      return 0;
    case llvm::Instruction::Mul:
      return kMultiply;
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
      return integer_division(instruction);
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FCmp:
      return kFloat;
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FRem:
      return kFloatDivide;
    case llvm::Instruction::FPToUI:
    case llvm::Instruction::FPToSI:
    case llvm::Instruction::UIToFP:
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt:
      return kConvert;
    default:
      return kSimple;
  }
}

// Does the address fold into the access: base + index * {1, 2, 4, 8} + constant?
bool folds(const llvm::GEPOperator& address, const llvm::DataLayout& layout) {
  llvm::MapVector<llvm::Value*, llvm::APInt> scales;
  const unsigned bits = layout.getIndexTypeSizeInBits(address.getType());
  llvm::APInt constant(bits, 0);
  if (address.getType()->isVectorTy() || !address.collectOffset(layout, bits, scales, constant)) {
    return false;
  }
  return scales.empty() ||
         (scales.size() == 1 && scales.front().second.isPowerOf2() && scales.front().second.ule(8));
}

// Two ways from the same source: the nearer counts, and of equally near ones the slower.
bool add(DependenceSet& set, const Dependence& added) {
  for (Dependence& present : set) {
    if (present.source != added.source) continue;
    if (added.distance > present.distance ||
        (added.distance == present.distance && added.cycles <= present.cycles)) {
      return false;
    }
    present = added;
    return true;
  }
  if (set.size() < trace::kMaxDependences) {
    set.push_back(added);
    return true;
  }
  auto nearer = [](const Dependence& a, const Dependence& b) {
    return std::pair(a.distance, a.cycles) < std::pair(b.distance, b.cycles);
  };
  auto farthest = std::max_element(set.begin(), set.end(), nearer);
  if (!nearer(added, *farthest)) return false;
  *farthest = added;
  return true;
}

bool merge(DependenceSet& set, const DependenceSet& added, unsigned cycles, unsigned distance) {
  bool changed = false;
  for (Dependence dependence : added) {
    dependence.cycles = static_cast<std::uint8_t>(std::min(255u, dependence.cycles + cycles));
    dependence.distance = static_cast<std::uint8_t>(std::min(255u, dependence.distance + distance));
    changed |= add(set, dependence);
  }
  return changed;
}

// The function that a call certainly reaches and that can be looked into.
const llvm::Function* known_callee(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee == nullptr || callee->isDeclaration() ? nullptr : callee;
}

}  // namespace

Dependences::Dependences(const llvm::Module& module) {
  // Recursion would let latencies grow for ever; a few rounds reach all that is near.
  constexpr unsigned kRounds = 4;
  for (unsigned round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (const llvm::Function& function : module) {
      if (!function.isDeclaration()) changed |= analyze(function);
    }
    if (!changed) return;
  }
}

// Returns whether anything changed that other functions see.
bool Dependences::analyze(const llvm::Function& function) {
  llvm::ReversePostOrderTraversal<const llvm::Function*> order(&function);
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> position;
  for (const llvm::BasicBlock* block : order) position.insert({block, position.size()});

  auto evaluate_phi = [&](const llvm::PHINode& phi) {
    DependenceSet set;
    const unsigned here = position.lookup(phi.getParent());
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      auto from = position.find(phi.getIncomingBlock(i));
      if (from == position.end()) continue;  // unreachable
      const bool back_edge = from->second >= here;
      merge(set, of_value(phi.getIncomingValue(i)), 0, back_edge ? 1 : 0);
    }
    return set;
  };

  // The second time round the phis of loops know what the loop's end brings.
  bool changed = false;
  for (int pass = 0; pass < 2; ++pass) {
    for (const llvm::BasicBlock* block : order) {
      for (const llvm::Instruction& instruction : *block) {
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
          changed |= pass_arguments(*call);
        }
        if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) {
          if (const llvm::Value* value = end->getReturnValue()) {
            const DependenceSet returned = of_value(value);
            if (!returned.empty()) changed |= merge(known_[&function], returned, 0, 0);
          }
        }
        if (instruction.getType()->isVoidTy() || is_source(&instruction)) continue;
        const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
        DependenceSet set = phi != nullptr ? evaluate_phi(*phi) : evaluate(instruction);
        if (!set.empty()) known_[&instruction] = std::move(set);
      }
    }
  }
  return changed;
}

bool Dependences::pass_arguments(const llvm::CallBase& call) {
  const llvm::Function* callee = known_callee(call);
  if (callee == nullptr) return false;
  bool changed = false;
  for (const llvm::Argument& argument : callee->args()) {
    const DependenceSet passed = of_value(call.getArgOperand(argument.getArgNo()));
    if (!passed.empty()) changed |= merge(known_[&argument], passed, 0, 1);
  }
  return changed;
}

DependenceSet Dependences::of_value(const llvm::Value* value) const {
  if (is_source(value)) return {Dependence{llvm::cast<llvm::Instruction>(value), 0, 0}};
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value); constant != nullptr) return {};
  // Also one that the instrumentation has made itself.
  if (const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(value)) {
    return of_value(cast->getOperand(0));
  }
  auto found = known_.find(value);
  return found == known_.end() ? DependenceSet() : found->second;
}

DependenceSet Dependences::of_address(const llvm::Value* pointer) const {
  const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer);
  if (address == nullptr) return of_value(pointer);
  const auto& folded = llvm::cast<llvm::GEPOperator>(*address);
  return of_operands(*address, folds(folded, address->getModule()->getDataLayout()) ? 0 : kSimple);
}

DependenceSet Dependences::of_operands(const llvm::User& user, unsigned cycles) const {
  DependenceSet set;
  for (const llvm::Value* operand : user.operands()) merge(set, of_value(operand), cycles, 0);
  return set;
}

DependenceSet Dependences::evaluate(const llvm::Instruction& instruction) const {
  if (llvm::isa<llvm::AllocaInst, llvm::LandingPadInst>(instruction)) return {};
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) return evaluate_call(*call);
  return of_operands(instruction, latency(instruction));
}

DependenceSet Dependences::evaluate_call(const llvm::CallBase& call) const {
  DependenceSet set;
  if (const llvm::Function* callee = known_callee(call)) {
    auto returned = known_.find(callee);
    if (returned != known_.end()) merge(set, returned->second, 0, 1);
    return set;
  }
  // Library functions compute in ways unknown here; intrinsics and assembly are arithmetic.
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
  if (intrinsic == nullptr && !call.isInlineAsm()) return set;
  const unsigned cycles = intrinsic ? intrinsic_latency(intrinsic->getIntrinsicID()) : kSimple;
  for (const llvm::Value* argument : call.args()) merge(set, of_value(argument), cycles, 0);
  return set;
}

}  // namespace pmemsim::pass
