// Which loads a value comes from, and through how many cycles of arithmetic.
//
// The simulated core needs it to tell pointer chasing (each load's address comes from the load
// before) from independent misses. The walk follows values through arithmetic, phis and selects
// (so that `p = p->next` makes the load depend on itself), and between the functions of a module
// through arguments and returned values, context-insensitively.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace pmemsim::pass {

struct Dependence {
  const llvm::Instruction* source;  // a load or an atomic
  std::uint8_t cycles;              // from the loaded value to its use
  std::uint8_t distance;            // loop iterations and calls in between; the near ones are kept
};
using DependenceSet = llvm::SmallVector<Dependence, 4>;

class Dependences {
 public:
  explicit Dependences(const llvm::Module& module);

  DependenceSet of_value(const llvm::Value* value) const;
  // Of a value used as an address: x86 adds base, scaled index and constant for nothing.
  DependenceSet of_address(const llvm::Value* pointer) const;

 private:
  bool analyze(const llvm::Function& function);
  DependenceSet evaluate(const llvm::Instruction& instruction) const;
  DependenceSet evaluate_call(const llvm::CallBase& call) const;
  DependenceSet of_operands(const llvm::User& user, unsigned cycles) const;
  bool pass_arguments(const llvm::CallBase& call);

  // Of instructions that are no sources themselves, of arguments, and (under the function) of
  // returned values. Values that depend on nothing have no entry.
  llvm::DenseMap<const llvm::Value*, DependenceSet> known_;
};

}  // namespace pmemsim::pass
