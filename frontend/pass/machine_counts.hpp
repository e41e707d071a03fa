// The number of machine instructions that the compiler generates for each LLVM instruction.
//
// A count of LLVM instructions would be wrong by half: addresses fold into accesses, phis become
// copies, arguments are moved, registers spill. So the real back end compiles a copy of the module
// in which every instruction carries its own number as source line. The pass then counts the final
// machine instructions by these numbers.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace pmemsim::pass {

struct MachineCount {
  double instructions = 0;  // a mean where the back end duplicated or merged code
  double jump = 0;          // for a switch: its table jump, not part of `instructions`
  unsigned branches = 0;    // conditional jumps, without copies in other blocks
  bool calls = false;       // a call is among them: a library call, for most LLVM instructions
  bool spilled = false;     // the result is stored to the stack, for lack of registers
};

// Returns the code generator for the module, or nullptr and a problem.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const llvm::Module& module,
                                                         llvm::CodeGenOptLevel level,
                                                         std::string& problem);

class MachineCounts {
 public:
  // Compiles a copy of the module and leaves `module` unchanged. If the back end refuses the copy,
  // the counts are estimates and problem() says why.
  MachineCounts(const llvm::Module& module, llvm::TargetMachine& machine);

  MachineCount of(const llvm::Instruction& instruction) const {
    return counts_.lookup(&instruction);
  }
  const std::string& problem() const { return problem_; }

 private:
  void estimate(const llvm::Module& module);

  llvm::DenseMap<const llvm::Instruction*, MachineCount> counts_;
  std::string problem_;
};

}  // namespace pmemsim::pass
