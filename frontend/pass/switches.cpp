// The code generator decides which cases of a switch share a table or a test of bits
// (SwitchCG::SwitchLowering, used here), and orders the rest as a search tree. It makes the tree
// while it selects instructions, where its order can't be observed. So this file repeats the order:
// the module that is recorded, and counted, then contains the tree's compares themselves.
#include "switches.hpp"

#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/CodeGen/FunctionLoweringInfo.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/SwitchLoweringUtils.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/NoFolder.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pmemsim::pass {
namespace {

using llvm::APInt;
using llvm::BasicBlock;
using llvm::BranchProbability;
using llvm::ConstantInt;
using llvm::Value;
using llvm::SwitchCG::CaseCluster;
using llvm::SwitchCG::CaseClusterIt;
using llvm::SwitchCG::CaseClusterVector;

// Finds clusters of cases, without making machine code of them.
class Clusters : public llvm::SwitchCG::SwitchLowering {
 public:
  using SwitchLowering::SwitchLowering;
  void addSuccessorWithProb(llvm::MachineBasicBlock*, llvm::MachineBasicBlock*,
                            BranchProbability) override {}
};

// The parts of the code generator that decide on one function's switches.
struct Generator {
  Generator(llvm::Function& function, llvm::MachineModuleInfo& modules,
            const llvm::TargetMachine& machine)
      : optimizes(machine.getOptLevel() != llvm::CodeGenOptLevel::None),
        makes_trees(optimizes && !function.hasMinSize()),
        clusters(information) {
    information.Fn = &function;
    information.MF = &modules.getOrCreateMachineFunction(function);
    information.BPI = nullptr;
    for (BasicBlock& block : function) {
      llvm::MachineBasicBlock* copy = information.MF->CreateMachineBasicBlock(&block);
      information.MF->push_back(copy);
      information.MBBMap[&block] = copy;
    }
    target = information.MF->getSubtarget().getTargetLowering();
    clusters.init(*target, machine, function.getParent()->getDataLayout());
    if (!optimizes) return;
    const llvm::DominatorTree tree(function);
    const llvm::LoopInfo loops(tree);
    probabilities = std::make_unique<llvm::BranchProbabilityInfo>(function, loops);
  }

  const bool optimizes;
  const bool makes_trees;  // if there are more than kMostInList clusters
  llvm::FunctionLoweringInfo information;
  Clusters clusters;
  const llvm::TargetLowering* target;
  std::unique_ptr<llvm::BranchProbabilityInfo> probabilities;
};

constexpr std::ptrdiff_t kMostInList = 3;

class Lowering {
 public:
  Lowering(llvm::SwitchInst& original, Generator& generator)
      : original_(original),
        generator_(generator),
        block_(original.getParent()),
        default_(original.getDefaultDest()),
        builder_(original.getContext()) {
    builder_.SetCurrentDebugLocation(original.getDebugLoc());
  }

  void run() {
    if (generator_.optimizes) widen();
    value_ = original_.getCondition();
    BranchProbability to_default = probability_of_default();
    CaseClusterVector clusters = find_clusters();
    const std::optional<CaseCluster> likeliest = take_likeliest(clusters, to_default);
    if (!clusters.empty()) {
      generator_.clusters.findJumpTables(clusters, &original_, std::nullopt, copy_of(default_),
                                         nullptr, nullptr);
      generator_.clusters.findBitTestClusters(clusters, &original_);
    }
    original_.removeFromParent();
    leave_phis();
    BasicBlock* block = block_;
    if (likeliest) {
      block = new_block(block_->getNextNode());
      test_range(block_, *likeliest, block, likeliest->Prob.getCompl());
    }
    if (clusters.empty()) {
      jump(block, default_);
    } else {
      lower({block, clusters.begin(), clusters.end() - 1, nullptr, nullptr, to_default});
    }
    enter_phis();
    original_.deleteValue();
  }

 private:
  // A part of the search tree: the clusters from `first` to `last`, which `block` will distinguish.
  // The value is at least `least` and less than `limit`, where they are known.
  struct Part {
    BasicBlock* block;
    CaseClusterIt first, last;
    const ConstantInt* least;
    const ConstantInt* limit;
    BranchProbability to_default;
  };

  // ---- Clusters --------------------------------------------------------------------------------

  // Extends values of types that the code generator avoids, before it selects instructions.
  void widen() {
    const llvm::TargetLowering& target = *generator_.target;
    Value* value = original_.getCondition();
    const llvm::EVT type =
        target.getValueType(original_.getModule()->getDataLayout(), value->getType());
    const llvm::MVT wide = target.getPreferredSwitchConditionType(original_.getContext(), type);
    if (wide.getSizeInBits() <= value->getType()->getIntegerBitWidth()) return;
    bool is_signed = target.isSExtCheaperThanZExt(type, wide);
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
      is_signed = argument->hasSExtAttr() || (is_signed && !argument->hasZExtAttr());
    }
    auto* wide_type = builder_.getIntNTy(static_cast<unsigned>(wide.getSizeInBits()));
    builder_.SetInsertPoint(&original_);
    original_.setCondition(is_signed ? builder_.CreateSExt(value, wide_type)
                                     : builder_.CreateZExt(value, wide_type));
    for (auto each : original_.cases()) {
      const APInt& narrow = each.getCaseValue()->getValue();
      const unsigned bits = wide_type->getBitWidth();
      each.setValue(constant(is_signed ? narrow.sext(bits) : narrow.zext(bits)));
    }
  }

  CaseClusterVector find_clusters() {
    CaseClusterVector clusters;
    for (const auto& each : original_.cases()) {
      of_cases_.push_back(probability(each.getSuccessorIndex()));
      clusters.push_back(CaseCluster::range(each.getCaseValue(), each.getCaseValue(),
                                            copy_of(each.getCaseSuccessor()), of_cases_.back()));
    }
    llvm::SwitchCG::sortAndRangeify(clusters);
    return clusters;
  }

  BranchProbability probability(unsigned successor) const {
    return generator_.probabilities != nullptr
               ? generator_.probabilities->getEdgeProbability(block_, successor)
               : BranchProbability(1, original_.getNumCases() + 1);
  }
  BranchProbability probability_of_default() const {
    return generator_.probabilities != nullptr
               ? generator_.probabilities->getEdgeProbability(block_, default_)
               : BranchProbability(1, original_.getNumCases() + 1);
  }

  // Takes out the cluster that is tested before all others, if there is one.
  std::optional<CaseCluster> take_likeliest(CaseClusterVector& clusters,
                                            BranchProbability& to_default) const {
    if (!generator_.makes_trees || clusters.size() < 2) return std::nullopt;
    const BranchProbability least(66, 100);
    auto found = clusters.end();
    for (auto each = clusters.begin(); each != clusters.end(); ++each) {
      if (each->Prob >= (found == clusters.end() ? least : found->Prob)) found = each;
    }
    if (found == clusters.end()) return std::nullopt;
    const CaseCluster likeliest = *found;
    clusters.erase(found);
    const auto scale = [&](BranchProbability& probability) {
      const std::uint32_t part = probability.getNumerator();
      const auto rest = static_cast<std::uint32_t>(
          likeliest.Prob.getCompl().scale(BranchProbability::getDenominator()));
      probability =
          rest == 0 ? BranchProbability::getZero() : BranchProbability(part, std::max(part, rest));
    };
    for (CaseCluster& cluster : clusters) scale(cluster.Prob);
    scale(to_default);
    return likeliest;
  }

  llvm::MachineBasicBlock* copy_of(const BasicBlock* block) const {
    return generator_.information.MBBMap.lookup(block);
  }
  static BasicBlock* target_of(const llvm::MachineBasicBlock* copy) {
    return const_cast<BasicBlock*>(copy->getBasicBlock());
  }

  // ---- The search tree -------------------------------------------------------------------------

  void lower(const Part& whole) {
    std::vector<Part> parts{whole};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      if (part.last - part.first >= kMostInList && generator_.makes_trees) {
        split(part, parts);
      } else {
        lower_list(part);
      }
    }
  }

  void split(const Part& part, std::vector<Part>& parts) {
    llvm::SwitchCG::SwitchWorkListItem item;
    item.FirstCluster = part.first;
    item.LastCluster = part.last;
    item.DefaultProb = part.to_default;
    const auto [last_left, first_right, left_probability, right_probability] =
        generator_.clusters.computeSplitWorkItemInfo(item);
    const ConstantInt* pivot = first_right->Low;
    BasicBlock* next = part.block->getNextNode();
    // Returns where to continue: at the only possible target, or in a new block.
    const auto side = [&](CaseClusterIt first, CaseClusterIt last, const ConstantInt* least,
                          const ConstantInt* limit) {
      if (first == last && first->Kind == llvm::SwitchCG::CC_Range && least != nullptr &&
          limit != nullptr && first->Low->getValue() == least->getValue() &&
          first->High->getValue() + 1 == limit->getValue()) {
        return target_of(first->MBB);
      }
      BasicBlock* block = new_block(next);
      parts.push_back({block, first, last, least, limit, part.to_default / 2});
      return block;
    };
    BasicBlock* left = side(part.first, last_left, part.least, pivot);
    BasicBlock* right = side(first_right, part.last, pivot, part.limit);
    builder_.SetInsertPoint(part.block);
    branch(builder_.CreateICmpSLT(value_, constant(pivot->getValue())), left, right,
           left_probability, right_probability);
  }

  // Lowers the clusters one after the other.
  void lower_list(const Part& part) {
    BasicBlock* next = part.block->getNextNode();
    if (part.block == block_ && test_two_values(part)) return;
    if (generator_.optimizes) order(part, next);
    BranchProbability unhandled = part.to_default;
    for (CaseClusterIt each = part.first; each <= part.last; ++each) unhandled += each->Prob;
    BasicBlock* block = part.block;
    for (CaseClusterIt each = part.first; each <= part.last; ++each) {
      BasicBlock* rest = each == part.last ? default_ : new_block(next);
      unhandled -= each->Prob;
      switch (each->Kind) {
        case llvm::SwitchCG::CC_Range:
          test_range(block, *each, rest, unhandled);
          break;
        case llvm::SwitchCG::CC_BitTests:
          test_bits(block, *each, rest, unhandled);
          break;
        case llvm::SwitchCG::CC_JumpTable:
          jump_by_table(block, *each, rest, unhandled);
          break;
      }
      block = rest;
    }
  }

  // Puts likely clusters first. Among equally likely ones, the last falls through to its target, if
  // the target is next.
  static void order(const Part& part, const BasicBlock* next) {
    llvm::sort(part.first, part.last + 1, [](const CaseCluster& a, const CaseCluster& b) {
      return a.Prob != b.Prob ? a.Prob > b.Prob : a.Low->getValue().slt(b.Low->getValue());
    });
    for (CaseClusterIt each = part.last; each > part.first;) {
      --each;
      if (each->Prob > part.last->Prob) return;
      if (each->Kind == llvm::SwitchCG::CC_Range && target_of(each->MBB) == next) {
        std::swap(*each, *part.last);
        return;
      }
    }
  }

  // Tests for two values with the same target and one different bit by one compare.
  bool test_two_values(const Part& part) {
    const CaseCluster& low = *part.first;
    const CaseCluster& high = *part.last;
    if (part.last - part.first != 1 || low.Kind != llvm::SwitchCG::CC_Range ||
        high.Kind != llvm::SwitchCG::CC_Range || low.Low != low.High || high.Low != high.High ||
        low.MBB != high.MBB) {
      return false;
    }
    const APInt both = low.Low->getValue() | high.Low->getValue();
    const APInt different = low.Low->getValue() ^ high.Low->getValue();
    if (!different.isPowerOf2()) return false;
    builder_.SetInsertPoint(part.block);
    Value* with_bit = builder_.CreateOr(value_, constant(different));
    branch(builder_.CreateICmpEQ(with_bit, constant(both)), target_of(low.MBB), default_,
           low.Prob + high.Prob, part.to_default);
    return true;
  }

  // ---- Kinds of clusters -----------------------------------------------------------------------

  void test_range(BasicBlock* block, const CaseCluster& cluster, BasicBlock* rest,
                  BranchProbability unhandled) {
    const APInt& low = cluster.Low->getValue();
    const APInt& high = cluster.High->getValue();
    if (is_unreachable(*rest)) return jump(block, target_of(cluster.MBB));
    builder_.SetInsertPoint(block);
    Value* inside = nullptr;
    if (low == high) {
      inside = builder_.CreateICmpEQ(value_, constant(low));
    } else if (low.isMinSignedValue()) {
      inside = builder_.CreateICmpSLE(value_, constant(high));
    } else {
      inside =
          builder_.CreateICmpULE(builder_.CreateSub(value_, constant(low)), constant(high - low));
    }
    branch(inside, target_of(cluster.MBB), rest, cluster.Prob, unhandled);
  }

  void test_bits(BasicBlock* block, const CaseCluster& cluster, BasicBlock* rest,
                 BranchProbability unhandled) {
    const llvm::SwitchCG::BitTestBlock& tests =
        generator_.clusters.BitTestCases[cluster.BTCasesIndex];
    const bool checks_range = !is_unreachable(*rest);
    BasicBlock* next = block->getNextNode();
    builder_.SetInsertPoint(block);
    Value* bit = builder_.CreateSub(value_, constant(tests.First));
    if (checks_range) {
      BasicBlock* inside = new_block(next);
      branch(builder_.CreateICmpUGT(bit, constant(tests.Range)), rest, inside, unhandled,
             cluster.Prob);
      block = inside;
      builder_.SetInsertPoint(block);
    }
    const unsigned width = tests.Range.ult(32) ? 32 : 64;
    bit = builder_.CreateZExtOrTrunc(bit, builder_.getIntNTy(width));
    const bool last_is_implied = tests.ContiguousRange || !checks_range;
    BranchProbability left = cluster.Prob;
    for (std::size_t i = 0; i < tests.Cases.size(); ++i) {
      const llvm::SwitchCG::BitTestCase& test = tests.Cases[i];
      const bool last = i + 1 == tests.Cases.size();
      const bool ends = last || (last_is_implied && i + 2 == tests.Cases.size());
      BasicBlock* other = !ends  ? new_block(next)
                          : last ? rest
                                 : target_of(tests.Cases[i + 1].TargetBB);
      left -= test.ExtraProb;
      builder_.SetInsertPoint(block);
      branch(is_among(bit, test.Mask, tests.Range), target_of(test.TargetBB), other, test.ExtraProb,
             left);
      if (ends) return;
      block = other;
    }
  }

  // Tests whether the bit of this number, which is at most `range`, is set in the mask.
  Value* is_among(Value* bit, std::uint64_t mask, const APInt& range) {
    const unsigned width = bit->getType()->getIntegerBitWidth();
    const auto ones = static_cast<unsigned>(llvm::popcount(mask));
    const auto number = [&](int value) { return builder_.getIntN(width, std::uint64_t(value)); };
    if (ones == 1) return builder_.CreateICmpEQ(bit, number(llvm::countr_zero(mask)));
    if (range == ones) return builder_.CreateICmpNE(bit, number(llvm::countr_one(mask)));
    Value* one = builder_.CreateShl(builder_.getIntN(width, 1), bit);
    return builder_.CreateICmpNE(builder_.CreateAnd(one, builder_.getIntN(width, mask)),
                                 builder_.getIntN(width, 0));
  }

  // Makes a switch that the code generator lowers to a range check and a table.
  void jump_by_table(BasicBlock* block, const CaseCluster& cluster, BasicBlock* rest,
                     BranchProbability unhandled) {
    builder_.SetInsertPoint(block);
    llvm::SwitchInst* table = builder_.CreateSwitch(value_, rest, original_.getNumCases());
    edges_.push_back({block, rest});
    llvm::SmallVector<std::uint32_t, 16> weights{unhandled.getNumerator()};
    for (const auto& each : original_.cases()) {
      const APInt& value = each.getCaseValue()->getValue();
      if (value.slt(cluster.Low->getValue()) || value.sgt(cluster.High->getValue())) continue;
      table->addCase(each.getCaseValue(), each.getCaseSuccessor());
      edges_.push_back({block, each.getCaseSuccessor()});
      weights.push_back(of_cases_[each.getCaseIndex()].getNumerator());
    }
    set_weights(*table, weights);
  }

  // ---- Blocks and edges ------------------------------------------------------------------------

  BasicBlock* new_block(BasicBlock* before) {
    return BasicBlock::Create(original_.getContext(), "", block_->getParent(), before);
  }
  ConstantInt* constant(const APInt& value) { return builder_.getInt(value); }

  void jump(BasicBlock* from, BasicBlock* to) {
    builder_.SetInsertPoint(from);
    builder_.CreateBr(to);
    edges_.push_back({from, to});
  }

  // Ends the builder's block.
  void branch(Value* condition, BasicBlock* then, BasicBlock* otherwise, BranchProbability of_then,
              BranchProbability of_otherwise) {
    llvm::Instruction* branch = builder_.CreateCondBr(condition, then, otherwise);
    edges_.push_back({branch->getParent(), then});
    edges_.push_back({branch->getParent(), otherwise});
    set_weights(*branch, {of_then.getNumerator(), of_otherwise.getNumerator()});
  }

  void set_weights(llvm::Instruction& branch, llvm::ArrayRef<std::uint32_t> weights) const {
    if (!generator_.optimizes || llvm::all_of(weights, [](std::uint32_t w) { return w == 0; })) {
      return;
    }
    branch.setMetadata(llvm::LLVMContext::MD_prof,
                       llvm::MDBuilder(branch.getContext()).createBranchWeights(weights));
  }

  // Removes the original edges from the phis of the targets, and adds the new ones.
  void leave_phis() {
    for (unsigned i = 0; i < original_.getNumSuccessors(); ++i) {
      for (llvm::PHINode& phi : original_.getSuccessor(i)->phis()) {
        if (const int at = phi.getBasicBlockIndex(block_); at >= 0) {
          values_.try_emplace(&phi, phi.getIncomingValue(static_cast<unsigned>(at)));
          phi.removeIncomingValue(static_cast<unsigned>(at), false);
        }
      }
    }
  }
  void enter_phis() {
    for (const auto& [from, to] : edges_) {
      for (llvm::PHINode& phi : to->phis()) {
        if (Value* value = values_.lookup(&phi)) phi.addIncoming(value, from);
      }
    }
  }

  llvm::SwitchInst& original_;
  Generator& generator_;
  BasicBlock* const block_;
  BasicBlock* const default_;
  Value* value_ = nullptr;
  llvm::IRBuilder<llvm::NoFolder> builder_;
  std::vector<BranchProbability> of_cases_;
  std::vector<std::pair<BasicBlock*, BasicBlock*>> edges_;
  llvm::DenseMap<const llvm::PHINode*, Value*> values_;
};

}  // namespace

bool is_unreachable(const BasicBlock& block) {
  return llvm::isa_and_nonnull<llvm::UnreachableInst>(block.getFirstNonPHIOrDbg());
}

void lower_switches(llvm::ArrayRef<llvm::Function*> functions, const llvm::TargetMachine& machine) {
  llvm::MachineModuleInfo modules(static_cast<const llvm::LLVMTargetMachine*>(&machine));
  for (llvm::Function* function : functions) {
    std::vector<llvm::SwitchInst*> switches;
    for (BasicBlock& block : *function) {
      auto* found = llvm::dyn_cast<llvm::SwitchInst>(block.getTerminator());
      if (found != nullptr) switches.push_back(found);
    }
    if (switches.empty()) continue;
    Generator generator(*function, modules, machine);
    for (llvm::SwitchInst* each : switches) Lowering(*each, generator).run();
  }
}

}  // namespace pmemsim::pass
