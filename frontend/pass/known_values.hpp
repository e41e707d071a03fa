// Properties of a function's values at compile time: targets of pointers, contents of memory, and
// the first position at which a value can be computed. (The pass runs before the optimiser computes
// them; at -O0 every variable is still in memory.)
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <memory>

namespace pmemsim::pass {

// A location in memory: `offset` bytes behind a pointer.
struct Location {
  llvm::Value* base;
  std::int64_t offset;
};

class KnownValues {
 public:
  // Analyses the current state of the function.
  explicit KnownValues(llvm::Function& function);
  ~KnownValues();
  KnownValues(const KnownValues&) = delete;
  KnownValues& operator=(const KnownValues&) = delete;

  const llvm::DominatorTree& tree() const { return tree_; }
  bool is_in_loop(const llvm::BasicBlock& block) const { return in_loops_.contains(&block); }

  // ---- Equal values --------------------------------------------------------------------------

  Location location_of(llvm::Value* pointer);
  bool same_value(llvm::Value* a, llvm::Value* b, unsigned depth = 0);
  bool same_location(const Location& a, const Location& b);
  llvm::Align alignment(const Location& location) const;
  // Returns the value at the location that a store has written before `instruction`; nullptr: it is
  // unknown.
  llvm::Value* stored_at(llvm::Value* pointer, std::int64_t offset, llvm::Type* type,
                         llvm::Instruction& instruction);

  // ---- Memory --------------------------------------------------------------------------------

  // Returns the last access before the instruction that has changed memory.
  llvm::MemoryAccess* state_before(const llvm::Instruction& instruction) const;
  // Searches backwards from `from` for the first access that may change the location. Like
  // state_before(), it may return the phi of several accesses, or the function's beginning.
  llvm::MemoryAccess* last_writer(llvm::MemoryAccess* from, const llvm::MemoryLocation& location);
  llvm::MemoryAccess* writer_before(llvm::MemoryAccess& writer) const;

  // ---- Positions -----------------------------------------------------------------------------
  //
  // A position is represented by the instruction behind it. Compared positions all dominate one
  // common instruction.

  bool is_before(const llvm::Instruction* a, const llvm::Instruction* b) const;
  llvm::Instruction* later(llvm::Instruction* a, llvm::Instruction* b) const;
  // Return the position right behind an instruction, or at the beginning of a block; nullptr if
  // there is none.
  static llvm::Instruction* behind(llvm::Instruction& instruction);
  static llvm::Instruction* beginning_of(llvm::BasicBlock& block);
  // Returns the first position from `from` on at which the writer's effect is complete, for later
  // instructions.
  llvm::Instruction* behind_writer(llvm::MemoryAccess& writer, llvm::Instruction* from,
                                   llvm::Instruction& reader) const;
  // Returns the first position from `from` on to which `access`, to this pointer, can be moved
  // without faulting where the program wouldn't.
  llvm::Instruction* safe_from(llvm::Instruction& access, llvm::Value* pointer, std::uint64_t bytes,
                               llvm::Instruction* from);
  // Returns the first position from `from` on at which the value can be computed; nullptr: there is
  // none.
  llvm::Instruction* computable_from(llvm::Value* value, llvm::Instruction* from);
  // Computes the value at the position: moves loads, repeats all other instructions.
  llvm::Value* compute(llvm::Value* value, llvm::Instruction* position);

 private:
  struct Analyses;

  llvm::Value* forwarded(llvm::LoadInst& load);
  llvm::Instruction* loadable_from(llvm::LoadInst& load, llvm::Instruction* from);
  bool same_load(llvm::LoadInst& a, llvm::LoadInst& b);

  llvm::Function& function_;
  llvm::DominatorTree tree_;
  llvm::DenseSet<const llvm::BasicBlock*> in_loops_;
  std::unique_ptr<Analyses> analyses_;
  llvm::DenseMap<llvm::Value*, llvm::Instruction*> computable_;
  llvm::Instruction* computable_for_ = nullptr;  // the `from` for which the positions were computed
};

}  // namespace pmemsim::pass
