#include "dependences.hpp"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "latencies.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim::pass {
namespace {

// True if the address folds into the access: base + index * {1, 2, 4, 8} + constant.
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

// Adds a dependence. If two paths have the same source, the nearer path counts; of equally near
// paths, the slower one.
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

bool merge(DependenceSet& set, const DependenceSet& added, unsigned cycles, unsigned distance,
           bool divides = false) {
  bool changed = false;
  for (Dependence dependence : added) {
    dependence.cycles = static_cast<std::uint8_t>(std::min(255u, dependence.cycles + cycles));
    dependence.distance = static_cast<std::uint8_t>(std::min(255u, dependence.distance + distance));
    dependence.divides |= divides;
    changed |= add(set, dependence);
  }
  return changed;
}

// Keeps the dependence's source only if this path also has it, with the smaller number of cycles.
void keep_quickest(Dependence& dependence, const DependenceSet& way) {
  if (dependence.source == nullptr) return;
  const auto* same = llvm::find_if(
      way, [&](const Dependence& other) { return other.source == dependence.source; });
  if (same == way.end()) {
    dependence.source = nullptr;
  } else if (same->cycles < dependence.cycles) {
    dependence.cycles = same->cycles;
    dependence.divides = same->divides;
  }
}

// Returns the function that a call certainly reaches and whose code is available.
const llvm::Function* known_callee(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee == nullptr || callee->isDeclaration() ? nullptr : callee;
}

}  // namespace

bool reads_memory(const llvm::Value* value) {
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
    return intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_load ||
           intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_gather;
  }
  return llvm::isa<llvm::LoadInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(value);
}

Dependences::Dependences(const llvm::Module& module, const LoopPhis& loop_phis,
                         const PhiSet& recurrences)
    : loop_phis_(loop_phis), recurrences_(recurrences) {
  // Recursion would increase latencies without limit; a few rounds reach all near sources.
  constexpr unsigned kRounds = 4;
  for (unsigned round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (const llvm::Function& function : module) {
      if (!function.isDeclaration()) changed |= analyze(function);
    }
    if (!changed) return;
  }
}

// Returns true if anything changed that other functions see.
bool Dependences::analyze(const llvm::Function& function) {
  const llvm::ReversePostOrderTraversal<const llvm::Function*> order(&function);
  // In the second pass, loop phis include the values from the loop's end.
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

DependenceSet Dependences::evaluate_phi(const llvm::PHINode& phi) const {
  DependenceSet set = of_first(phi);
  merge(set, of_ways(phi, true), 0, 1);
  return set;
}

DependenceSet Dependences::of_first(const llvm::PHINode& phi) const { return of_ways(phi, false); }

DependenceSet Dependences::of_next(const llvm::PHINode& phi) const {
  DependenceSet set = of_ways(phi, true);
  llvm::erase_if(set, [&](const Dependence& dependence) {
    return dependence.source->getParent() == phi.getParent() &&
           llvm::isa<llvm::PHINode>(dependence.source) && dependence.source->comesBefore(&phi);
  });
  return set;
}

// Merges all incoming values, since the path taken isn't known. Within its loop a recurrence
// continues by all paths or not at all, and the quickest path counts.
DependenceSet Dependences::of_ways(const llvm::PHINode& phi, bool round) const {
  llvm::SmallVector<DependenceSet> ways;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    if (loop_phis_.is_loop_carried(phi, i) == round) {
      ways.push_back(of_value(phi.getIncomingValue(i)));
    }
  }
  DependenceSet set;
  for (const DependenceSet& way : ways) merge(set, way, 0, 0);
  for (Dependence& dependence : set) {
    if (!loop_phis_.in_loop_of(dependence.source, *phi.getParent())) continue;
    for (const DependenceSet& way : ways) keep_quickest(dependence, way);
  }
  llvm::erase_if(set, [](const Dependence& dependence) { return dependence.source == nullptr; });
  return set;
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

bool Dependences::is_source(const llvm::Value* value) const {
  const auto* phi = llvm::dyn_cast<llvm::PHINode>(value);
  return phi != nullptr ? recurrences_.contains(phi) : reads_memory(value);
}

DependenceSet Dependences::of_value(const llvm::Value* value) const {
  if (is_source(value)) return {Dependence{llvm::cast<llvm::Instruction>(value), 0, 0, false}};
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value); constant != nullptr) return {};
  // The cast may also be one that the instrumentation has inserted.
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
  return of_operands(*address,
                     folds(folded, address->getModule()->getDataLayout()) ? 0 : latency(*address));
}

DependenceSet Dependences::of_operands(const llvm::User& user, unsigned cycles,
                                       bool divides) const {
  DependenceSet set;
  for (const llvm::Value* operand : user.operands()) {
    merge(set, of_value(operand), cycles, 0, divides);
  }
  return set;
}

DependenceSet Dependences::evaluate(const llvm::Instruction& instruction) const {
  if (llvm::isa<llvm::AllocaInst, llvm::LandingPadInst>(instruction)) return {};
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) return evaluate_call(*call);
  return of_operands(instruction, latency(instruction), pass::divides(instruction));
}

DependenceSet Dependences::evaluate_call(const llvm::CallBase& call) const {
  DependenceSet set;
  if (const llvm::Function* callee = known_callee(call)) {
    auto returned = known_.find(callee);
    if (returned != known_.end()) merge(set, returned->second, 0, 1);
    return set;
  }
  // The arithmetic of library functions is unknown here; intrinsics and assembly are arithmetic.
  if (!llvm::isa<llvm::IntrinsicInst>(call) && !call.isInlineAsm()) return set;
  merge(set, of_arguments(call), latency(call), 0);
  return set;
}

DependenceSet Dependences::of_arguments(const llvm::CallBase& call) const {
  DependenceSet set;
  for (const llvm::Value* argument : call.args()) merge(set, of_value(argument), 0, 0);
  return set;
}

}  // namespace pmemsim::pass
