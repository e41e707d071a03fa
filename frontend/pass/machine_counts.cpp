#include "machine_counts.hpp"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineBlockFrequencyInfo.h>
#include <llvm/CodeGen/MachineBranchProbabilityInfo.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/PseudoSourceValue.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/InitializePasses.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetLoweringObjectFile.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "annotated_locks.hpp"
#include "assembly_text.hpp"

namespace pmemsim::pass {
namespace {

using Id = unsigned;  // 1 + index into Numbering::instructions; 0: the instruction has no number

// The instructions of the module, numbered; their copies carry the numbers as source lines.
struct Numbering {
  std::vector<const llvm::Instruction*> instructions;
  llvm::DenseMap<const llvm::Instruction*, Id> terminators;
  llvm::StringMap<Id> entries;  // the terminator of each function's entry block, by its name

  const llvm::Instruction* operator[](Id id) const { return instructions[id - 1]; }
};

std::unique_ptr<llvm::Module> numbered_copy(const llvm::Module& module, Numbering& numbering) {
  llvm::ValueToValueMapTy copies;
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module, copies);
  llvm::StripDebugInfo(*copy);

  llvm::DIBuilder builder(*copy);
  llvm::DIFile* file = builder.createFile("numbered", ".");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "", false, "", 0, "",
                            llvm::DICompileUnit::NoDebug);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    auto* subprogram =
        builder.createFunction(file, function.getName(), "", file, 1, type, 1,
                               llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
    llvm::cast<llvm::Function>(&*copies[&function])->setSubprogram(subprogram);
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      numbering.instructions.push_back(&instruction);
      const auto id = static_cast<Id>(numbering.instructions.size());
      if (instruction.isTerminator()) {
        numbering.terminators[&instruction] = id;
        numbering.entries.try_emplace(function.getName(), id);
      }
      // A phi becomes copies in the blocks before it. Without a number they count with their
      // neighbours where they are executed.
      if (llvm::isa<llvm::PHINode>(instruction)) continue;
      const llvm::Value* value = copies.lookup(&instruction);
      if (value == nullptr) continue;  // a debug intrinsic, stripped
      auto* instruction_copy = llvm::cast<llvm::Instruction>(const_cast<llvm::Value*>(value));
      instruction_copy->setDebugLoc(llvm::DILocation::get(module.getContext(), id, 0, subprogram));
    }
  }
  builder.finalize();
  return copy;
}

// True for functions whose calls aren't counted. Every design is charged for the program without
// pre-execution hints (library/hints.c), and calls that report locks are no part of the program.
// (The code generator removes instructions that only they used.)
bool is_no_code(const llvm::Function& function) {
  return function.isDeclaration() && (function.getName().starts_with("pm_pre_") ||
                                      function.getName().starts_with(kLockFunctions));
}

void drop_what_is_no_code(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!is_no_code(function)) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call != nullptr && call->getCalledFunction() == &function) call->eraseFromParent();
    }
  }
}

// Returns the number of instructions that the processor executes for `instruction`.
unsigned executed(const llvm::MachineInstr& instruction, const llvm::TargetInstrInfo& info) {
  if (instruction.isMetaInstruction() || instruction.isPosition()) return 0;
  if (instruction.isInlineAsm()) {
    return count_assembly_instructions(
        instruction.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName());
  }
  // A fence for the compiler only is printed as a comment.
  if (instruction.isPseudo() && info.getName(instruction.getOpcode()) == "Int_MemBarrier") return 0;
  return 1;
}

// True if the instruction stores a register to a location that only the code generator uses.
bool spills(const llvm::MachineInstr& instruction) {
  const llvm::MachineFrameInfo& frame = instruction.getMF()->getFrameInfo();
  return llvm::any_of(instruction.memoperands(), [&](const llvm::MachineMemOperand* access) {
    const auto* place =
        llvm::dyn_cast_or_null<llvm::FixedStackPseudoSourceValue>(access->getPseudoValue());
    return access->isStore() && place != nullptr &&
           frame.isSpillSlotObjectIndex(place->getFrameIndex());
  });
}

// Returns the instruction that has computed the spilled register.
const llvm::MachineInstr* source_of_spill(const llvm::MachineInstr& spill) {
  const llvm::MachineOperand& stored = spill.getOperand(spill.getNumExplicitOperands() - 1);
  if (!stored.isReg()) return nullptr;
  const llvm::TargetRegisterInfo* registers = spill.getMF()->getSubtarget().getRegisterInfo();
  for (const llvm::MachineInstr* before = spill.getPrevNode(); before != nullptr;
       before = before->getPrevNode()) {
    if (before->modifiesRegister(stored.getReg(), registers)) return before;
  }
  return nullptr;
}

// Counts one function's final machine code.
class FunctionCount {
 public:
  FunctionCount(llvm::MachineFunction& function, const Numbering& numbering,
                llvm::MachineBlockFrequencyInfo* frequencies,
                const llvm::MachineBranchProbabilityInfo* probabilities)
      : function_(function),
        numbering_(numbering),
        frequencies_(frequencies),
        probabilities_(probabilities),
        info_(*function.getSubtarget().getInstrInfo()) {}

  void add_to(llvm::DenseMap<const llvm::Instruction*, MachineCount>& counts) {
    for (llvm::MachineBasicBlock& block : function_) count_block(block);
    for (auto& [block, instructions] : unnumbered_)
      give_to_predecessors(*block, instructions, 1, 0);
    weigh();
    for (const Share& share : shares_) {
      MachineCount& count = counts[numbering_[share.id]];
      count.instructions += share.instructions;
      count.calls |= share.calls;
    }
    for (const Id id : spilled_) counts[numbering_[id]].spilled = true;
    for (const Id id : branches_) ++counts[numbering_[id]].branches;
    for (const Share& jump : table_jumps_) {
      MachineCount& count = counts[numbering_[jump.id]];
      count.jump = std::max(count.jump, jump.instructions);
    }
  }

 private:
  // A number of machine instructions of `block` that belong to instruction `id`.
  struct Share {
    Id id;
    const llvm::MachineBasicBlock* block;
    double instructions;
    bool calls;
  };

  // Counts a block. Instructions without a number are added to
  // 1. the next numbered instruction of their machine block;
  // 2. the end of the block's own LLVM block, if that next one is a copy from another LLVM block,
  //    such as the condition of a loop that is tested before the loop;
  // 3. the branch that ends the last numbered instruction's LLVM block, if none is next.
  void count_block(llvm::MachineBasicBlock& block) {
    double waiting = 0;
    double reached = 1;  // behind conditional branches: the probability that they are reached
    const std::size_t first = shares_.size();
    for (const llvm::MachineInstr& instruction : block.instrs()) {
      const unsigned executes = executed(instruction, info_);
      if (executes == 0) continue;
      if (spills(instruction)) note_spill(instruction);
      if (instruction.isConditionalBranch()) note_branch(instruction, block);
      waiting += executes * reached;
      if (instruction.isConditionalBranch()) reached -= taken(instruction, block);
      const llvm::DebugLoc& location = instruction.getDebugLoc();
      const Id id = location ? location.getLine() : 0;
      if (id == 0) continue;
      if (const Id own = end_of_own_block(block);
          is_of_another_block(id, own) && waiting > executes) {
        add(first, {own, &block, waiting - executes, false});
        waiting = executes;
      }
      add(first, {id, &block, waiting, instruction.isCall() && !instruction.isInlineAsm()});
      waiting = 0;
    }
    if (first < shares_.size() && is_table_jump(block, shares_.back().id)) {
      table_jumps_.push_back(shares_.back());
      shares_.pop_back();
    }
    if (shares_.size() > first) {
      if (waiting > 0) add(first, {end_of_block(shares_.back().id), &block, waiting, false});
      last_.insert({&block, shares_.size() - 1});
    } else if (waiting > 0) {
      unnumbered_.push_back({&block, waiting});
    }
  }

  // True if the block ends with the jump of the switch `id` through its table.
  bool is_table_jump(const llvm::MachineBasicBlock& block, Id id) const {
    return llvm::isa<llvm::SwitchInst>(numbering_[id]) && !block.empty() &&
           block.back().isIndirectBranch();
  }

  void note_branch(const llvm::MachineInstr& branch, const llvm::MachineBasicBlock& block) {
    const Id id = branch.getDebugLoc() ? branch.getDebugLoc().getLine() : 0;
    if (id != 0 && id == end_of_own_block(block)) branches_.push_back(id);
  }

  void note_spill(const llvm::MachineInstr& spill) {
    const llvm::MachineInstr* source = source_of_spill(spill);
    if (source == nullptr || !source->getDebugLoc()) return;
    if (const Id id = source->getDebugLoc().getLine(); id != 0) spilled_.push_back(id);
  }

  void add(std::size_t first, const Share& share) {
    if (shares_.size() > first && shares_.back().id == share.id) {
      shares_.back().instructions += share.instructions;
      shares_.back().calls |= share.calls;
    } else {
      shares_.push_back(share);
    }
  }

  // Returns the end of the LLVM block of which the machine block was made, or 0.
  static Id end_of_own_block(const llvm::MachineBasicBlock& block) {
    const llvm::BasicBlock* own = block.getBasicBlock();
    const llvm::Instruction* end = own != nullptr ? own->getTerminator() : nullptr;
    return end != nullptr && end->getDebugLoc() ? end->getDebugLoc().getLine() : 0;
  }
  bool is_of_another_block(Id id, Id own) const {
    return own != 0 && numbering_[id]->getParent() != numbering_[own]->getParent();
  }

  Id end_of_block(Id id) const {
    return numbering_.terminators.lookup(numbering_[id]->getParent()->getTerminator());
  }

  // Assigns instructions of a block without any number (copies on a critical edge, a merged tail)
  // to its predecessors. The block is executed whenever one of them branches to it.
  void give_to_predecessors(const llvm::MachineBasicBlock& block, double instructions,
                            double probability, unsigned depth) {
    constexpr unsigned kMaxDepth = 8;
    if (depth > kMaxDepth || instructions * probability < 0.01) return;
    if (block.isEntryBlock()) {
      shares_.push_back({entry_id(), &block, instructions * probability, false});
      return;
    }
    for (const llvm::MachineBasicBlock* predecessor : block.predecessors()) {
      const double taken = probability * edge(*predecessor, block);
      if (auto last = last_.find(predecessor); last != last_.end()) {
        shares_[last->second].instructions += instructions * taken;
      } else if (predecessor != &block) {
        give_to_predecessors(*predecessor, instructions, taken, depth + 1);
      }
    }
  }

  Id entry_id() const { return numbering_.entries.lookup(function_.getName()); }

  double taken(const llvm::MachineInstr& branch, const llvm::MachineBasicBlock& block) const {
    for (const llvm::MachineOperand& operand : branch.operands()) {
      if (operand.isMBB()) return edge(block, *operand.getMBB());
    }
    return 0;
  }

  double edge(const llvm::MachineBasicBlock& from, const llvm::MachineBasicBlock& to) const {
    if (probabilities_ == nullptr) return 1.0 / from.succ_size();
    const llvm::BranchProbability probability = probabilities_->getEdgeProbability(&from, &to);
    return static_cast<double>(probability.getNumerator()) /
           llvm::BranchProbability::getDenominator();
  }

  double frequency(const llvm::MachineBasicBlock* block) const {
    return static_cast<double>(frequencies_->getBlockFreq(block).getFrequency());
  }

  // Weighs the shares. The optimising back end duplicates instructions, moves them to other blocks
  // and expands some into several blocks. A share then counts by how often its machine block is
  // executed per execution of the instruction's own LLVM block. The latter is the median, over the
  // block's instructions, of how often each is executed, all of its machine blocks together.
  void weigh() {
    if (frequencies_ == nullptr) return;
    llvm::DenseMap<const llvm::BasicBlock*, const llvm::MachineBasicBlock*> only_block;
    llvm::DenseSet<const llvm::BasicBlock*> scattered;
    for (const Share& share : shares_) {
      const llvm::BasicBlock* parent = numbering_[share.id]->getParent();
      auto [entry, inserted] = only_block.insert({parent, share.block});
      if (!inserted && entry->second != share.block) scattered.insert(parent);
    }
    if (scattered.empty()) return;

    llvm::DenseMap<Id, double> executions;
    llvm::DenseSet<std::pair<Id, const llvm::MachineBasicBlock*>> seen;
    for (const Share& share : shares_) {
      if (!scattered.contains(numbering_[share.id]->getParent())) continue;
      if (seen.insert({share.id, share.block}).second) {
        executions[share.id] += frequency(share.block);
      }
    }
    llvm::DenseMap<const llvm::BasicBlock*, std::vector<double>> of_block;
    for (const auto& [id, times] : executions)
      of_block[numbering_[id]->getParent()].push_back(times);
    llvm::DenseMap<const llvm::BasicBlock*, double> median;
    for (auto& [block, times] : of_block) {
      auto middle = times.begin() + times.size() / 2;
      std::nth_element(times.begin(), middle, times.end());
      median[block] = *middle;
    }
    for (Share& share : shares_) {
      auto entry = median.find(numbering_[share.id]->getParent());
      if (entry == median.end() || entry->second <= 0) continue;
      share.instructions *= frequency(share.block) / entry->second;
    }
  }

  llvm::MachineFunction& function_;
  const Numbering& numbering_;
  llvm::MachineBlockFrequencyInfo* frequencies_;
  const llvm::MachineBranchProbabilityInfo* probabilities_;
  const llvm::TargetInstrInfo& info_;
  std::vector<Share> shares_;
  std::vector<Share> table_jumps_;  // The jumps of switches, not part of `instructions`.
  std::vector<Id> spilled_, branches_;
  llvm::DenseMap<const llvm::MachineBasicBlock*, std::size_t> last_;  // the block's last share
  std::vector<std::pair<const llvm::MachineBasicBlock*, double>> unnumbered_;
};

class CountPass : public llvm::MachineFunctionPass {
 public:
  CountPass(const Numbering& numbering, bool optimizing,
            llvm::DenseMap<const llvm::Instruction*, MachineCount>& counts)
      : MachineFunctionPass(id_), numbering_(numbering), optimizing_(optimizing), counts_(counts) {}

  llvm::StringRef getPassName() const override { return "pmemsim: count machine instructions"; }

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    if (optimizing_) {
      usage.addRequired<llvm::MachineBlockFrequencyInfoWrapperPass>();
      usage.addRequired<llvm::MachineBranchProbabilityInfoWrapperPass>();
    }
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    llvm::MachineBlockFrequencyInfo* frequencies = nullptr;
    const llvm::MachineBranchProbabilityInfo* probabilities = nullptr;
    if (optimizing_) {
      frequencies = &getAnalysis<llvm::MachineBlockFrequencyInfoWrapperPass>().getMBFI();
      probabilities = &getAnalysis<llvm::MachineBranchProbabilityInfoWrapperPass>().getMBPI();
    }
    FunctionCount(function, numbering_, frequencies, probabilities).add_to(counts_);
    return false;
  }

 private:
  static inline char id_ = 0;
  const Numbering& numbering_;
  bool optimizing_;
  llvm::DenseMap<const llvm::Instruction*, MachineCount>& counts_;
};

// Hides the copy's diagnostics from the user: the real compilation reports them with real lines.
class QuietDiagnostics : public llvm::DiagnosticHandler {
 public:
  explicit QuietDiagnostics(std::string& error) : error_(error) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& diagnostic) override {
    if (diagnostic.getSeverity() == llvm::DS_Error && error_.empty()) {
      llvm::raw_string_ostream stream(error_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      diagnostic.print(printer);
    }
    return true;
  }

 private:
  std::string& error_;
};

// Runs the back end up to the final machine instructions. Returns an error message, or nothing.
std::string count_in_copy(llvm::Module& copy, const Numbering& numbering,
                          llvm::TargetMachine& machine,
                          llvm::DenseMap<const llvm::Instruction*, MachineCount>& counts) {
  llvm::PassRegistry& registry = *llvm::PassRegistry::getPassRegistry();
  llvm::initializeMachineBlockFrequencyInfoWrapperPassPass(registry);
  llvm::initializeMachineBranchProbabilityInfoWrapperPassPass(registry);

  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);
  auto* module_info = new llvm::MachineModuleInfoWrapperPass(&target);
  target.getObjFileLowering()->Initialize(module_info->getMMI().getContext(), target);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(llvm::Triple(copy.getTargetTriple())));
  passes.add(llvm::createTargetTransformInfoWrapperPass(target.getTargetIRAnalysis()));
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(module_info);
  if (config->addISelPasses()) return "the code generator has no instruction selector";
  config->addMachinePasses();
  config->setInitialized();
  passes.add(
      new CountPass(numbering, machine.getOptLevel() != llvm::CodeGenOptLevel::None, counts));
  passes.add(llvm::createFreeMachineFunctionPass());

  std::string problem;
  llvm::LLVMContext& context = copy.getContext();
  std::unique_ptr<llvm::DiagnosticHandler> handler = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<QuietDiagnostics>(problem));
  passes.run(copy);
  context.setDiagnosticHandler(std::move(handler));
  return problem;
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(const llvm::Module& module,
                                                         llvm::CodeGenOptLevel level,
                                                         std::string& problem) {
  const llvm::Target* target =
      llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), problem);
  if (target == nullptr) return nullptr;
  const bool position_independent = module.getPICLevel() != llvm::PICLevel::NotPIC;
  // Processor and features are in each function's attributes.
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(module.getTargetTriple(), "", "", llvm::TargetOptions(),
                                  position_independent ? llvm::Reloc::PIC_ : llvm::Reloc::Static,
                                  module.getCodeModel(), level));
  if (machine == nullptr) problem = "no code generator for " + module.getTargetTriple();
  return machine;
}

MachineCounts::MachineCounts(const llvm::Module& module, llvm::TargetMachine& machine) {
  Numbering numbering;
  std::unique_ptr<llvm::Module> copy = numbered_copy(module, numbering);
  drop_what_is_no_code(*copy);
  problem_ = count_in_copy(*copy, numbering, machine, counts_);
  if (problem_.empty()) return;
  counts_.clear();
  estimate(module);
}

// Estimates one machine instruction per LLVM instruction, except for those that usually fold into
// their neighbours.
void MachineCounts::estimate(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      MachineCount& count = counts_[&instruction];
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call)) {
        count.calls = !call->isInlineAsm();
        count.instructions = call->isInlineAsm() ? 1.0 : 1.0 + call->arg_size();
      } else if (!llvm::isa<llvm::PHINode, llvm::BitCastInst, llvm::AllocaInst, llvm::FreezeInst,
                            llvm::GetElementPtrInst, llvm::DbgInfoIntrinsic>(instruction)) {
        count.instructions = 1;
      }
    }
  }
}

}  // namespace pmemsim::pass
