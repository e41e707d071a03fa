// The loads and recurrences that a value depends on, and the cycles of arithmetic from each to the
// value.
//
// With these dependences, the simulated core distinguishes pointer chasing (each load's address is
// the result of the previous load) from independent misses. They also limit the speed of a loop
// that computes each value from the previous one (recurrences.hpp). The analysis follows values
// through arithmetic, phis and selects (so that `p = p->next` makes the load depend on itself).
// Between the functions of a module it follows arguments and returned values,
// context-insensitively.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>

#include "loop_phis.hpp"

namespace pmemsim::pass {

struct Dependence {
  const llvm::Instruction* source;  // a load, an atomic or the phi of a recurrence
  std::uint8_t cycles;              // latency from the loaded value to its use
  std::uint8_t distance;            // loop iterations and calls between source and use
  bool divides = false;             // the latency contains an integer division
};
using DependenceSet = llvm::SmallVector<Dependence, 4>;

using PhiSet = llvm::DenseSet<const llvm::PHINode*>;

bool reads_memory(const llvm::Value* value);

class Dependences {
 public:
  // `recurrences` are phis that count as sources; the analysis follows values through all other
  // phis.
  Dependences(const llvm::Module& module, const LoopPhis& loop_phis, const PhiSet& recurrences);

  bool is_recurrence(const llvm::PHINode& phi) const { return recurrences_.contains(&phi); }
  // Return the dependences of the value with which the phi's loop begins, and of the value from the
  // previous iteration. The second omits phis that are before `phi` in its block: they already have
  // their next value.
  DependenceSet of_first(const llvm::PHINode& phi) const;
  DependenceSet of_next(const llvm::PHINode& phi) const;

  DependenceSet of_value(const llvm::Value* value) const;
  // Returns the dependences of a value used as an address: x86 adds base, scaled index and constant
  // in no extra time.
  DependenceSet of_address(const llvm::Value* pointer) const;
  // Returns the dependences of all arguments of a call.
  DependenceSet of_arguments(const llvm::CallBase& call) const;

 private:
  bool analyze(const llvm::Function& function);
  bool is_source(const llvm::Value* value) const;
  DependenceSet of_ways(const llvm::PHINode& phi, bool round) const;
  DependenceSet evaluate_phi(const llvm::PHINode& phi) const;
  DependenceSet evaluate(const llvm::Instruction& instruction) const;
  DependenceSet evaluate_call(const llvm::CallBase& call) const;
  DependenceSet of_operands(const llvm::User& user, unsigned cycles, bool divides = false) const;
  bool pass_arguments(const llvm::CallBase& call);

  const LoopPhis& loop_phis_;
  const PhiSet recurrences_;
  // The dependences of instructions that are no sources themselves, of arguments, and (under the
  // function) of returned values. Values that depend on nothing have no entry.
  llvm::DenseMap<const llvm::Value*, DependenceSet> known_;
};

}  // namespace pmemsim::pass
